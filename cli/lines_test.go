package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/store/sample"
	"hindcast/store/storetest/skip"
)

// line is a line of a file, with the steps that may rightly be told to have written it: the ids of their records, ""
// for a person.
type line struct {
	text, kind string
	by         []string
}

// tree is the text of each file.
type tree map[string][]*line

// copy returns another tree of the same lines.
func (t tree) copy() tree {
	out := tree{}
	for name, lines := range t {
		out[name] = slices.Clone(lines)
	}
	return out
}

// text returns the text of a file.
func (t tree) text(name string) string {
	var b strings.Builder
	for _, l := range t[name] {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// author writes the history of a repository, by people and by sessions of Claude Code, and writes down who wrote each
// line while it does so. It shares no code with what is tested: it never compares texts, and git is only fed with
// whole trees.
type author struct {
	t             testing.TB
	rand          *rand.Rand
	repo, project string
	now           time.Time
	at            tree // the work tree of people and most sessions
	kind          string
	files         []string
	commits       bytes.Buffer // for git fast-import
	mark          int          // of the last commit of the main branch
	marks         int
	sessions      [][]record
	records, news int
	deleted       []gap // since the last commit
}

// gap is where a line was deleted.
type gap struct {
	before, after *line
	was           *line
}

// record is a record of a session.
type record struct{ id, json string }

func newAuthor(t testing.TB, seed uint64) *author {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		skip.Missing(t, "there is no git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := &author{
		t: t, rand: rand.New(rand.NewPCG(seed, 7)), repo: filepath.Join(dir, "repo"), project: filepath.Join(dir, "projects", "-repo"),
		now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), at: tree{}, files: []string{"main.go", "src/cart.go", "src/main.go", "notes.md"},
	}
	if err := os.MkdirAll(a.project, 0o700); err != nil {
		t.Fatal(err)
	}
	a.kind = "first"
	for _, name := range a.files {
		for range 40 {
			a.insert(a.at, name, len(a.at[name]), 0, []*line{{text: a.newText(), by: []string{""}}})
		}
	}
	a.commit(a.at, a.now)
	return a
}

// newText returns a line of code. Some lines it returns again and again, such as a brace.
func (a *author) newText() string {
	a.news++
	switch a.rand.IntN(10) {
	case 0, 1:
		return "\t}"
	case 2:
		return []string{"", "\treturn nil, err", "\tif err != nil {", "\t\tcontinue", "\tdefer mu.Unlock()"}[a.rand.IntN(5)]
	}
	return fmt.Sprintf("\ttotal%d := compute(item%d, rate%d)", a.news, a.rand.IntN(50), a.rand.IntN(9))
}

// newLines makes lines of a step, "" for a person.
func (a *author) newLines(by string) (list []*line) {
	for range 1 + a.rand.IntN(5) {
		list = append(list, &line{text: a.newText(), by: []string{by}})
	}
	return list
}

// fold returns a text without white space.
func fold(text string) string { return strings.Join(strings.Fields(text), " ") }

// insert puts lines in place of n others. A text that is put in place of the same text may be told to be of either.
func (a *author) insert(t tree, name string, at, n int, lines []*line) {
	old := t[name]
	near := func(i int) *line {
		if i < 0 || i >= len(old) {
			return nil
		}
		return old[i]
	}
	for _, l := range lines {
		if l.kind == "" {
			l.kind = a.kind
		}
		for _, was := range old[at : at+n] {
			if fold(was.text) == fold(l.text) {
				l.by = append(l.by, was.by...)
			}
		}
		for _, g := range a.deleted {
			if fold(g.was.text) == fold(l.text) && (g.before == near(at-1) || g.after == near(at+n)) {
				l.by = append(l.by, g.was.by...)
			}
		}
	}
	for i := at; i < at+n; i++ {
		a.deleted = append(a.deleted, gap{near(at - 1), near(at + n), old[i]})
	}
	t[name] = slices.Concat(old[:at], lines, old[at+n:])
}

// wait lets time pass.
func (a *author) wait(d time.Duration) { a.now = a.now.Add(d) }

// commit commits a tree on the main branch.
func (a *author) commit(t tree, authored time.Time, also ...int) {
	a.mark = a.commitOn(t, a.mark, authored, also...)
	a.deleted = nil
}

// commitOn commits a tree on a commit, and returns the mark of the new one. also are further parents.
func (a *author) commitOn(t tree, parent int, authored time.Time, also ...int) int {
	a.wait(time.Minute)
	if authored.IsZero() {
		authored = a.now
	}
	a.marks++
	fmt.Fprintf(&a.commits, "commit refs/heads/main\nmark :%d\nauthor A <a@example.com> %d +0000\ncommitter A <a@example.com> %d +0000\ndata 4\nwork\n", a.marks, authored.Unix(), a.now.Unix())
	for i, p := range append([]int{parent}, also...) {
		if p > 0 {
			fmt.Fprintf(&a.commits, "%s :%d\n", []string{"from", "merge"}[min(i, 1)], p)
		}
	}
	a.commits.WriteString("deleteall\n")
	for _, name := range slices.Sorted(maps.Keys(t)) {
		text := t.text(name)
		fmt.Fprintf(&a.commits, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	return a.marks
}

// file picks a file.
func (a *author) file() string { return a.files[a.rand.IntN(len(a.files))] }

// span picks a place in a file and how many lines of it are replaced.
func (a *author) span(t tree, name string) (at, n int) {
	at = a.rand.IntN(len(t[name]) + 1)
	return at, min(a.rand.IntN(3), len(t[name])-at)
}

// person edits a file.
func (a *author) person(t tree, name string) {
	a.wait(time.Minute)
	at, n := a.span(t, name)
	a.insert(t, name, at, n, a.newLines(""))
}

// copyLine copies a line to another place, by a person.
func (a *author) copyLine(t tree, name string) {
	a.wait(time.Minute)
	of := t[name][a.rand.IntN(len(t[name]))]
	a.insert(t, name, a.rand.IntN(len(t[name])+1), 0, []*line{{text: of.text, by: []string{""}}})
}

// moveLines moves a part of a file: it stays of whom it was.
func (a *author) moveLines(t tree, name string) {
	a.wait(time.Minute)
	lines := t[name]
	from := a.rand.IntN(len(lines) - 6)
	n := 1 + a.rand.IntN(6)
	part := slices.Clone(lines[from : from+n])
	rest := slices.Concat(lines[:from], lines[from+n:])
	t[name] = slices.Insert(rest, a.rand.IntN(len(rest)+1), part...)
}

// indent changes the white space of lines.
func (a *author) indent(t tree, name string) {
	a.wait(time.Minute)
	for i, l := range t[name] {
		if strings.TrimSpace(l.text) != "" {
			now := *l
			now.text = strings.Repeat(" ", 2*a.rand.IntN(4)) + strings.Replace(strings.TrimSpace(l.text), " := ", []string{" := ", "  :=  "}[a.rand.IntN(2)], 1)
			t[name][i] = &now
		}
	}
}

// split breaks lines in two, as a formatter does. No step writes the new texts.
func (a *author) split(t tree, name string) {
	a.wait(time.Minute)
	var out []*line
	for _, l := range t[name] {
		head, tail, is := strings.Cut(l.text, ", rate")
		if is && a.rand.IntN(6) == 0 {
			out = append(out, &line{text: head + ",", kind: a.kind, by: []string{""}}, &line{text: "\t\trate" + tail, kind: a.kind, by: []string{""}})
			continue
		}
		out = append(out, l)
	}
	t[name] = out
}

// id returns the id of a new record.
func (a *author) id() string {
	a.records++
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", a.records)
}

// sessionID returns the id of a session.
func sessionID(n int) string { return fmt.Sprintf("%08d-2222-4333-8444-555555555555", n+1) }

// last returns the id of the last record of a session, or "".
func (a *author) last(n int) string {
	if n < len(a.sessions) && len(a.sessions[n]) > 0 {
		return a.sessions[n][len(a.sessions[n])-1].id
	}
	return ""
}

// add adds a record of Claude Code to a session.
func (a *author) add(n int, dir, id, parent string, fields map[string]any) {
	for len(a.sessions) <= n {
		a.sessions = append(a.sessions, nil)
	}
	a.wait(1500 * time.Millisecond)
	maps.Copy(fields, map[string]any{
		"uuid": id, "timestamp": a.now.Format("2006-01-02T15:04:05.000Z"), "cwd": dir, "sessionId": sessionID(n), "version": "2.1.330", "isSidechain": false,
		"parentUuid": nil,
	})
	if parent != "" {
		fields["parentUuid"] = parent
	}
	data, err := json.Marshal(fields)
	if err != nil {
		a.t.Fatal(err)
	}
	a.sessions[n] = append(a.sessions[n], record{id, string(data)})
}

// step lets a session put lines in place of n others, in a turn behind a record. lines makes them, nil for new ones.
func (a *author) step(session int, parent, dir string, t tree, name string, at, n int, lines func(by string) []*line) {
	prompt, call, result := a.id(), a.id(), a.id()
	before, old := t.text(name), slices.Clone(t[name])
	if lines == nil {
		lines = a.newLines
	}
	put := lines(result)
	a.insert(t, name, at, n, put)
	var hunk []string
	from, to := max(at-3, 0), min(at+n+3, len(old))
	sign := func(sign string, lines []*line) {
		for _, l := range lines {
			hunk = append(hunk, sign+l.text)
		}
	}
	sign(" ", old[from:at])
	sign("-", old[at:at+n])
	sign("+", put)
	sign(" ", old[at+n:to])
	hunks := []any{map[string]any{"oldStart": from + 1, "oldLines": to - from, "newStart": from + 1, "newLines": to - from - n + len(put), "lines": hunk}}
	path := filepath.Join(dir, name)
	record := map[string]any{"filePath": path, "oldString": "x", "newString": "y", "originalFile": before, "structuredPatch": hunks, "userModified": false, "replaceAll": false}
	tool, input := "Edit", map[string]any{"file_path": path}
	switch a.rand.IntN(5) {
	case 0:
		record["originalFile"] = nil // as for a large file
	case 1:
		tool, input = "Bash", map[string]any{"command": "sed -i s/a/b/ " + name}
		record = map[string]any{"stdout": "", "interrupted": false, "bashEditDiff": map[string]any{
			"files": []any{map[string]any{"filePath": path, "hunks": hunks}}, "moreFiles": 0, "changedFiles": []any{path}}}
	case 2:
		tool = "Write"
		record = map[string]any{"type": "update", "filePath": path, "content": t.text(name), "originalFile": before, "structuredPatch": hunks}
	}
	a.add(session, dir, prompt, parent, map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": "change it, " + result}})
	a.add(session, dir, call, prompt, map[string]any{"type": "assistant", "message": map[string]any{"id": "msg_" + call, "type": "message", "role": "assistant", "model": "fake", "content": []any{
		map[string]any{"type": "tool_use", "id": "toolu_" + call, "name": tool, "input": input}}}})
	a.add(session, dir, result, call, map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": "toolu_" + call, "content": "updated"}}},
		"toolUseResult": record})
}

// session lets a session change a file at some place.
func (a *author) session(n int, t tree, name string) {
	at, k := a.span(t, name)
	a.step(n, a.last(n), a.repo, t, name, at, k, nil)
}

// someone is one of the last sessions, or a new one.
func (a *author) someone() int { return max(0, len(a.sessions)-a.rand.IntN(4)) }

// round makes one or more commits of a kind.
func (a *author) round() {
	rounds := []struct {
		kind string
		do   func()
	}{
		{"plain", a.roundPlain}, {"plain", a.roundPlain}, {"mixed", a.roundMixed}, {"mixed", a.roundMixed}, {"rebased", a.roundRebased},
		{"merged", a.roundMerged}, {"reformatted", a.roundReformatted}, {"renamed", a.roundRenamed}, {"moved", a.roundMoved},
		{"squashed", a.roundSquashed}, {"same text", a.roundSameText}, {"abandoned", a.roundAbandoned}, {"person", a.roundPerson},
	}
	r := rounds[a.rand.IntN(len(rounds))]
	a.kind = r.kind
	r.do()
}

func (a *author) roundPlain() {
	n := a.someone()
	for range 1 + a.rand.IntN(3) {
		a.session(n, a.at, a.file())
	}
	a.commit(a.at, time.Time{})
}

func (a *author) roundPerson() {
	name := a.file()
	a.person(a.at, name)
	a.copyLine(a.at, name)
	a.commit(a.at, time.Time{})
}

// roundMixed has people and sessions edit one file in turns, with lines copied, removed and typed by hand.
func (a *author) roundMixed() {
	name := a.file()
	for range 2 + a.rand.IntN(4) {
		switch a.rand.IntN(4) {
		case 0:
			a.person(a.at, name)
		case 1:
			a.copyLine(a.at, name)
		default:
			a.session(a.someone(), a.at, name)
		}
	}
	if a.rand.IntN(3) == 0 { // another file is committed between
		other := a.at.copy()
		other["other.txt"] = []*line{{text: fmt.Sprint(a.news)}}
		a.at["other.txt"] = other["other.txt"]
	}
	a.commit(a.at, time.Time{})
}

// roundRebased has a session commit on a branch, a person on the main one, and puts the branch on top.
func (a *author) roundRebased() {
	name, n := a.file(), a.someone()
	branch := a.at.copy()
	type made struct {
		lines    []*line
		authored time.Time
	}
	var list []made
	for range 1 + a.rand.IntN(2) {
		at := a.rand.IntN(len(branch[name])/2 + 1)
		var put []*line
		a.step(n, a.last(n), a.repo, branch, name, at, 0, func(by string) []*line { put = a.newLines(by); return put })
		if a.rand.IntN(2) == 0 {
			at := a.rand.IntN(len(branch[name])/2 + 1)
			a.wait(time.Minute)
			hand := a.newLines("")
			a.insert(branch, name, at, 0, hand)
			list = append(list, made{hand, time.Time{}})
		}
		a.wait(time.Minute)
		list = append(list, made{put, a.now})
	}
	if a.rand.IntN(2) == 0 { // in the other half of the file
		half := len(a.at[name]) / 2
		at := half + 5 + a.rand.IntN(max(len(a.at[name])-half-5, 1))
		a.wait(time.Minute)
		a.insert(a.at, name, min(at, len(a.at[name])), 0, a.newLines(""))
	} else {
		a.person(a.at, a.other(name))
	}
	a.commit(a.at, time.Time{})
	a.wait(time.Hour)
	// The commits come on top one by one: each has the lines that the branch had at its time.
	target := branch[name]
	has := map[*line]bool{}
	for _, m := range list {
		for _, l := range m.lines {
			has[l] = true
		}
	}
	done := map[*line]bool{}
	main := a.at[name]
	for _, m := range list {
		for _, l := range m.lines {
			done[l] = true
		}
		if m.authored.IsZero() {
			continue
		}
		a.at[name] = weave(target, main, has, done)
		a.commit(a.at, m.authored)
	}
}

// weave returns the lines of main with those that a branch put before and after its lines, as far as they are done.
func weave(branch, main []*line, put, done map[*line]bool) (out []*line) {
	next := 0
	for _, l := range branch {
		if put[l] {
			if done[l] {
				out = append(out, l)
			}
			continue
		}
		for next < len(main) && main[next] != l {
			out = append(out, main[next])
			next++
		}
		if next < len(main) {
			out = append(out, l)
			next++
		}
	}
	return append(out, main[next:]...)
}

// other returns another file.
func (a *author) other(name string) string {
	for {
		if of := a.file(); of != name {
			return of
		}
	}
}

// roundMerged has a session commit on a branch, a person on the main one, and merges them.
func (a *author) roundMerged() {
	name, n := a.file(), a.someone()
	branch := a.at.copy()
	a.session(n, branch, name)
	side := a.commitOn(branch, a.mark, time.Time{})
	a.deleted = nil
	of := a.other(name)
	a.person(a.at, of)
	a.commit(a.at, time.Time{})
	a.at[name] = branch[name]
	a.commit(a.at, time.Time{}, side)
}

func (a *author) roundReformatted() {
	name := a.file()
	switch a.rand.IntN(3) {
	case 0: // a session's lines before they are committed
		a.session(a.someone(), a.at, name)
		a.session(a.someone(), a.at, name)
		a.indent(a.at, name)
	case 1:
		a.session(a.someone(), a.at, name)
		a.commit(a.at, time.Time{})
		a.indent(a.at, name)
	default:
		a.session(a.someone(), a.at, name)
		a.split(a.at, name)
	}
	a.commit(a.at, time.Time{})
}

// roundRenamed renames a file, with edits before and behind that in the same commit.
func (a *author) roundRenamed() {
	i := a.rand.IntN(len(a.files))
	name := a.files[i]
	if a.rand.IntN(2) == 0 {
		a.session(a.someone(), a.at, name)
	}
	a.news++
	to := fmt.Sprintf("%s/file%d.go", []string{"src", "lib"}[a.rand.IntN(2)], a.news)
	a.at[to] = a.at[name]
	delete(a.at, name)
	a.files[i] = to
	if a.rand.IntN(2) == 0 {
		a.session(a.someone(), a.at, to)
	}
	a.commit(a.at, time.Time{})
}

func (a *author) roundMoved() {
	name := a.file()
	a.session(a.someone(), a.at, name)
	a.moveLines(a.at, name)
	if a.rand.IntN(2) == 0 {
		a.session(a.someone(), a.at, name)
	}
	a.commit(a.at, time.Time{})
}

// roundSquashed makes one commit of the work of several.
func (a *author) roundSquashed() {
	name := a.file()
	first := a.now.Add(time.Minute)
	base := a.at.copy()
	for range 2 + a.rand.IntN(2) {
		a.session(a.someone(), a.at, name)
		a.wait(time.Minute)
	}
	if a.rand.IntN(2) == 0 {
		a.person(a.at, name)
	}
	switch a.rand.IntN(3) {
	case 0: // the commit has the time of the first one, as after git rebase -i
		a.commit(a.at, first.Add(time.Minute))
	case 1:
		a.commit(a.at, time.Time{})
	default: // the main branch went on, as for git merge --squash
		branch := a.at
		a.at = base
		a.person(a.at, a.other(name))
		a.commit(a.at, time.Time{})
		a.at[name] = branch[name]
		a.commit(a.at, time.Time{})
	}
}

// roundSameText has two sessions write the same text.
func (a *author) roundSameText() {
	name, one, two := a.file(), a.someone(), len(a.sessions)+1
	if one == two {
		one--
	}
	var texts []string
	for range 1 + a.rand.IntN(3) {
		a.news++
		texts = append(texts, fmt.Sprintf("\tlimit%d := choose(rate%d, %d)", a.news, a.rand.IntN(9), a.news))
	}
	write := func(by string) (list []*line) {
		for _, text := range texts {
			list = append(list, &line{text: text, by: []string{by}})
		}
		return list
	}
	at, n := a.span(a.at, name)
	switch a.rand.IntN(5) {
	case 0: // a person takes the first back without a record
		base := a.at.copy()
		a.step(one, a.last(one), a.repo, a.at, name, at, n, write)
		a.at = base
		a.deleted = nil
		a.step(two, a.last(two), a.repo, a.at, name, at, n, write)
	case 1, 2: // in two work trees, of which one is committed
		first, second := a.at.copy(), a.at.copy()
		trees := [2]string{a.repo, filepath.Join(a.repo, ".claude", "worktrees", fmt.Sprint("tree", a.news))}
		if a.rand.IntN(2) == 0 {
			slices.Reverse(trees[:])
		}
		a.step(one, a.last(one), trees[0], first, name, at, n, write)
		a.deleted = nil
		a.step(two, a.last(two), trees[1], second, name, at, n, write)
		a.at = [2]tree{first, second}[a.rand.IntN(2)]
	case 3: // both stay, at two places
		a.step(one, a.last(one), a.repo, a.at, name, at, n, write)
		a.step(two, a.last(two), a.repo, a.at, name, a.rand.IntN(len(a.at[name])+1), 0, write)
	default: // a person removes one
		a.step(one, a.last(one), a.repo, a.at, name, at, n, write)
		first := a.at[name][at : at+len(texts)]
		to := a.rand.IntN(len(a.at[name]) + 1)
		if to > at && to < at+len(texts) {
			to = at
		}
		var second []*line
		a.step(two, a.last(two), a.repo, a.at, name, to, 0, func(by string) []*line { second = write(by); return second })
		gone := [2][]*line{slices.Clone(first), second}[a.rand.IntN(2)]
		a.wait(time.Minute)
		a.at[name] = slices.DeleteFunc(slices.Clone(a.at[name]), func(l *line) bool { return slices.Contains(gone, l) })
	}
	a.commit(a.at, time.Time{})
}

// roundAbandoned has a session go back to before a step. The file goes back too or not, and a person may type the same.
func (a *author) roundAbandoned() {
	name, n := a.file(), len(a.sessions)
	a.session(n, a.at, name)
	from := a.last(n)
	base := a.at.copy()
	at, k := a.span(a.at, name)
	var put []*line
	a.step(n, from, a.repo, a.at, name, at, k, func(by string) []*line { put = a.newLines(by); return put })
	restored := a.rand.IntN(3) > 0
	if restored {
		a.at = base
		a.deleted = nil
	}
	typeIt := func() {
		a.wait(time.Minute)
		var same []*line
		for _, l := range put {
			same = append(same, &line{text: l.text, by: []string{""}})
		}
		a.insert(a.at, name, at, k, same)
	}
	early := restored && a.rand.IntN(2) == 0
	if early {
		typeIt()
	}
	// It goes on from there: only that tells that it went back.
	of := a.file()
	for early && of == name { // which may stand where the person's lines do
		of = a.file()
	}
	to, gone := a.span(a.at, of)
	a.step(n, from, a.repo, a.at, of, to, gone, nil)
	if restored && !early && of != name && a.rand.IntN(2) == 0 {
		typeIt()
	}
	a.commit(a.at, time.Time{})
}

// save writes the repository, the work tree with what is not committed, and the sessions.
func (a *author) save() {
	a.t.Helper()
	git := func(in []byte, args ...string) {
		cmd := exec.CommandContext(a.t.Context(), "git", args...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		cmd.Stdin = bytes.NewReader(in)
		if out, err := cmd.CombinedOutput(); err != nil {
			a.t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	git(nil, "init", "-q", "-b", "main", a.repo)
	git(a.commits.Bytes(), "-C", a.repo, "fast-import", "--quiet", "--force")
	git(nil, "-C", a.repo, "reset", "-q", "--hard", "main")
	for name := range a.at {
		path := filepath.Join(a.repo, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			a.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(a.at.text(name)), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	for n, records := range a.sessions {
		var b strings.Builder
		for _, r := range records {
			b.WriteString(r.json + "\n")
		}
		if err := os.WriteFile(filepath.Join(a.project, sessionID(n)+".jsonl"), []byte(b.String()), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

// score counts the lines of a kind.
type score struct {
	// lines are those that a session wrote, and found those that are told to be of it; told are all that are told to be
	// of a step of a path, and right those that are.
	lines, found, told, right int
	// thrown and several count the lines that are told to be of a branch that was thrown away and of one of several
	// steps.
	thrown, several int
}

// storyTold is an element of blame --json.
type storyTold struct {
	From, To   int
	Writer     *writerTold
	Candidates []writerTold
}

type writerTold struct {
	ID, Words, ThrownAway string
	Orphaned              bool
}

// scoreLines compares what blame tells of each line with who wrote it.
func (a *author) scoreLines(c *session, scores map[string]*score) {
	a.t.Helper()
	for _, name := range a.files {
		code, out, said := c.run(a.t, "blame", filepath.Dir(a.project), filepath.Join(a.repo, name), "--json")
		if code != 0 {
			a.t.Fatal(said)
		}
		var runs []storyTold
		if err := json.Unmarshal([]byte(out), &runs); err != nil {
			a.t.Fatal(err)
		}
		next := 1
		for _, run := range runs {
			if run.From != next {
				a.t.Fatalf("%s: a run begins with line %d, want %d", name, run.From, next)
			}
			for next = run.From; next <= run.To; next++ {
				l := a.at[name][next-1]
				s := scores[l.kind]
				if s == nil {
					s = new(score)
					scores[l.kind] = s
				}
				s.add(a.t, fmt.Sprintf("%s:%d", name, next), l, &run)
			}
		}
		if next != len(a.at[name])+1 {
			a.t.Errorf("%s: the runs end before line %d of %d", name, next, len(a.at[name]))
		}
	}
}

// add counts a line.
func (s *score) add(t testing.TB, place string, l *line, run *storyTold) {
	t.Helper()
	written := !slices.Contains(l.by, "")
	if written {
		s.lines++
	}
	w := run.Writer
	switch {
	case w != nil && w.Orphaned:
		// Whether the line came from the branch or was typed again, no record tells: the text is of the branch.
		if s.thrown++; w.ThrownAway == "" {
			t.Errorf("%s, %q, is of a branch that was thrown away, and that is not said", place, l.text)
		}
		if slices.Contains(l.by, w.ID) {
			s.found++
		} else if written {
			t.Errorf("%s (%s), %q, is told to be of the branch of %s, and is of %q", place, l.kind, l.text, w.ID, l.by)
		}
	case w != nil:
		if s.told++; slices.Contains(l.by, w.ID) && strings.HasSuffix(w.Words, w.ID) {
			s.right++
			if written {
				s.found++
			}
		} else {
			t.Errorf("%s (%s), %q, is told to be of %s, and is of %q", place, l.kind, l.text, w.ID, l.by)
		}
	case len(run.Candidates) > 0:
		s.several++
		if !slices.ContainsFunc(run.Candidates, func(w writerTold) bool { return slices.Contains(l.by, w.ID) }) {
			t.Errorf("%s (%s), %q, is told to be of one of %v, and is of %q", place, l.kind, l.text, run.Candidates, l.by)
		}
	}
}

// blameSeeds are the first and the last seed of the repositories.
var blameSeeds = [2]*uint64{
	flag.Uint64("blame-from", 1, "the first seed of the repositories that blame is tested on"),
	flag.Uint64("blame-to", 2, "the last one"),
}

// A line that is told to be of a step is of that step, whatever people and sessions write, copy, rebase, format, rename,
// squash and throw away in 500 commits.
func TestBlame_tellsWhoWroteALine(t *testing.T) {
	skip.Sequential(t)
	scores := map[string]*score{}
	for seed := *blameSeeds[0]; seed <= *blameSeeds[1]; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			a := newAuthor(t, seed)
			for a.marks < 500 {
				a.round()
			}
			a.kind = "uncommitted"
			for _, name := range a.files {
				a.session(a.someone(), a.at, name)
				a.person(a.at, name)
			}
			a.save()
			c := start(t, sample.Rows())
			c.Kinds = realKinds()
			a.scoreLines(c, scores)
		})
	}
	var all score
	for _, kind := range slices.Sorted(maps.Keys(scores)) {
		s := scores[kind]
		t.Logf("%-12s precision %d/%d, recall %d/%d = %.3f, thrown away %d, several %d", kind, s.right, s.told, s.found, s.lines, float64(s.found)/float64(max(s.lines, 1)), s.thrown, s.several)
		all.right, all.told, all.found, all.lines, all.thrown, all.several = all.right+s.right, all.told+s.told, all.found+s.found, all.lines+s.lines, all.thrown+s.thrown, all.several+s.several
	}
	recall := float64(all.found) / float64(all.lines)
	t.Logf("%-12s precision %d/%d, recall %d/%d = %.3f, thrown away %d, several %d", "all", all.right, all.told, all.found, all.lines, recall, all.thrown, all.several)
	if recall < 0.8 {
		t.Errorf("the recall is %.3f, want 0.8", recall)
	}
}

// A repository cannot have blame run a program of its own.
func TestBlame_runsNothingOfTheRepository(t *testing.T) {
	a := newAuthor(t, 3)
	a.session(0, a.at, "main.go")
	a.save()
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := "[core]\n\tfsmonitor = PROGRAM\n\tpager = PROGRAM\n\teditor = PROGRAM\n[diff]\n\texternal = PROGRAM\n[diff \"own\"]\n\tcommand = PROGRAM\n\ttextconv = PROGRAM\n" +
		"[log]\n\tshowSignature = true\n[gpg]\n\tprogram = PROGRAM\n[alias]\n\tblame = !PROGRAM\n\tlog = !PROGRAM\n[pager]\n\tblame = PROGRAM\n\tlog = PROGRAM\n"
	for name, text := range map[string]string{".git/config": config, ".gitattributes": "* diff=own\n", ".git/info/attributes": "* diff=own\n"} {
		file, err := os.OpenFile(filepath.Join(a.repo, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(strings.ReplaceAll(text, "PROGRAM", program)); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	c := start(t, sample.Rows())
	c.Kinds = realKinds()
	for _, flag := range []string{"--json", "--porcelain"} {
		if code, _, said := c.run(t, "blame", filepath.Dir(a.project), filepath.Join(a.repo, "main.go"), flag); code != 0 {
			t.Fatal(said)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the configuration ran")
	}
}

// BenchmarkBlame_home tells the story of a file of 1,000 lines in a home of 1,000 sessions of 200 kB. One session in seven
// edits the file, and one in five a file of that name elsewhere.
func BenchmarkBlame_home(b *testing.B) {
	a := newAuthor(b, 1)
	a.files = []string{"main.go"}
	a.kind = "plain"
	for len(a.at["main.go"]) < 1000 || len(a.sessions) < 80 {
		a.session(len(a.sessions), a.at, "main.go")
		a.session(len(a.sessions)-1, a.at, "main.go")
		a.commit(a.at, time.Time{})
		a.person(a.at, "main.go")
	}
	written := len(a.sessions)
	repo := a.repo
	a.repo = "/home/demo/other"
	filler := strings.Repeat("the output of a command that ran for long and says little. ", 80)
	for len(a.sessions) < 1000 {
		n := len(a.sessions)
		name := fmt.Sprintf("file%d.go", n%50)
		if n%5 == 0 {
			name = "lib/main.go"
		}
		other := tree{name: a.newLines("")}
		for range 18 {
			a.deleted = nil
			a.session(n, other, name)
			a.add(n, a.repo, a.id(), a.last(n), map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": filler + filler}})
		}
	}
	a.repo = repo
	a.save()
	c := start(b, sample.Rows())
	c.Kinds = realKinds()
	b.Logf("%d lines, %d of %d sessions wrote at them", len(a.at["main.go"]), written, len(a.sessions))
	for b.Loop() {
		if code, _, said := c.run(b, "blame", filepath.Dir(a.project), filepath.Join(a.repo, "main.go")); code != 0 {
			b.Fatal(said)
		}
	}
}
