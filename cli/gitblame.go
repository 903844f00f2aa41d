package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model/printable"
	"hindcast/query"
)

// What git tells of a file
//
//	git rev-parse         the root of the work tree, which the paths of sessions begin with
//	git worktree list     the other work trees of the repository
//	git blame -w          the commit of each line, behind changes of white space alone
//	git log --parents     the times of the commits of the file, and of the one before each
//	git cat-file --batch  the texts of the file in these commits
//
// git gets its arguments without a shell, and a path only behind "--" or from its own mouth. It takes no lock and starts
// no pager, file monitor, converter of texts or checker of signatures, whatever the configuration of the repository is.

// gitCommand returns a command of git in a folder.
func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	all := append([]string{
		"-C", dir, "--no-pager", "--no-optional-locks", "--literal-pathspecs",
		"-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "log.showSignature=false", "-c", "blame.ignoreRevsFile=",
	}, args...)
	return exec.CommandContext(ctx, "git", all...)
}

// runGit returns the output of git in a folder.
func runGit(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := gitCommand(ctx, dir, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if said, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n"); err != nil && said != "" {
		err = fmt.Errorf("git %s: %s: %w", args[0], printable.String(said), err)
	} else if err != nil {
		err = fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, err
}

// gitCommit is a commit as git blame tells it.
type gitCommit struct {
	id, author, summary string
	// file is the file in the commit.
	file string
	// authored and committed are its times.
	authored, committed time.Time
	// lines are the places of its lines in the blamed file, from 0.
	lines []int
}

// isCommitted reports whether the lines are in a commit.
func (c *gitCommit) isCommitted() bool { return strings.Trim(c.id, "0") != "" }

// parseBlame parses the output of git blame --porcelain: the texts of the lines, and the commits, in the order of their
// first lines.
func parseBlame(out []byte) (texts []string, commits []*gitCommit) {
	type fileIn struct{ commit, file string }
	known := map[fileIn]*gitCommit{}
	latest := map[string]*gitCommit{} // what was told of a commit
	var at *gitCommit
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if text, is := strings.CutPrefix(line, "\t"); is && at != nil {
			c := known[fileIn{at.id, at.file}]
			if c == nil {
				c = new(*at)
				c.lines = nil
				known[fileIn{at.id, at.file}], commits = c, append(commits, c)
			}
			c.lines = append(c.lines, len(texts))
			texts, latest[at.id], at = append(texts, text), at, nil
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		if at == nil {
			at = &gitCommit{id: key}
			if told := latest[key]; told != nil {
				at = new(*told)
			}
			continue
		}
		switch key {
		case "author":
			at.author = value
		case "author-time":
			at.authored = gitTime(value)
		case "committer-time":
			at.committed = gitTime(value)
		case "summary":
			at.summary = value
		case "filename":
			at.file = unquoteName(value)
		}
	}
	return texts, commits
}

// unquoteName returns a name as git prints it: in quotes where it has control characters.
func unquoteName(name string) string {
	if out, err := strconv.Unquote(name); err == nil && name[0] == '"' {
		return out
	}
	return name
}

func gitTime(seconds string) time.Time {
	n, _ := strconv.ParseInt(seconds, 10, 64) // of git
	return time.Unix(n, 0)
}

// blamedFile is a file of a git work tree.
type blamedFile struct {
	lineRange
	// dir is its folder and name its name there; path is the file below top, the root of the work tree.
	dir, name, path, top string
	// names are the names below top that it had, its own first.
	names []string
	// roots are the folders of the work trees of the repository, the longest first.
	roots []workTree
	texts []string // of its lines
	// commits have its lines. history has all commits of the file, parents first, and last the text of the work tree.
	commits []*gitCommit
	history []*loggedCommit
}

// workTree is a folder of a work tree, and the number of the tree, which may have several names.
type workTree struct {
	folder string
	number int
}

// mostBlamed bounds a text of the file that is read, in bytes.
const mostBlamed = 64 << 20

// blameFile asks git for the commits of the lines of a file.
func blameFile(ctx context.Context, r lineRange) (*blamedFile, error) {
	f := &blamedFile{lineRange: r, dir: filepath.Dir(r.file), name: filepath.Base(r.file)}
	if info, err := os.Stat(r.file); err != nil || info.Size() > mostBlamed {
		return nil, cmp.Or(err, fmt.Errorf("%.200q has more than %d MB", r.file, mostBlamed>>20))
	}
	if err := f.findRoots(ctx); err != nil {
		return nil, err
	}
	out, err := runGit(ctx, f.dir, "blame", "-w", "--no-textconv", "--porcelain", "--", f.name)
	if err != nil {
		if _, none := runGit(ctx, f.dir, "cat-file", "-e", "HEAD:./"+f.name); none == nil || ctx.Err() != nil {
			return nil, err
		}
		return f, f.readUncommitted()
	}
	f.texts, f.commits = parseBlame(out)
	if err := f.findNames(ctx); err != nil {
		return nil, err
	}
	return f, f.readHistory(ctx)
}

// findRoots finds the work trees of the repository.
func (f *blamedFile) findRoots(ctx context.Context) error {
	out, err := runGit(ctx, f.dir, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return err
	}
	top, prefix, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	f.path, f.top, f.roots = prefix+f.name, top, []workTree{{top, 0}}
	if dir, err := filepath.Abs(f.dir); err == nil { // as the person has it, which may lead over a link
		if root, is := strings.CutSuffix(filepath.ToSlash(dir)+"/", "/"+prefix); is {
			f.roots = append(f.roots, workTree{root, 0})
		}
	}
	if out, err = runGit(ctx, f.dir, "worktree", "list", "--porcelain"); err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		if root, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "worktree "); is && root != top {
			f.roots = append(f.roots, workTree{root, len(f.roots)})
		}
	}
	slices.SortFunc(f.roots, func(a, b workTree) int { return len(b.folder) - len(a.folder) })
	return nil
}

// never is a time after all steps.
var never = time.Unix(1<<36, 0)

// readUncommitted reads the lines of a file that is in no commit.
func (f *blamedFile) readUncommitted() error {
	text, err := os.ReadFile(f.file)
	c := &gitCommit{id: strings.Repeat("0", 40), file: f.path}
	for line := range strings.Lines(string(text)) {
		c.lines = append(c.lines, len(f.texts))
		f.texts = append(f.texts, strings.TrimSuffix(line, "\n"))
	}
	f.names, f.commits, f.history = []string{f.path}, []*gitCommit{c}, []*loggedCommit{{until: never, authored: never}}
	return err
}

// loggedCommit is a commit as git log tells it.
type loggedCommit struct {
	id      string
	parents []*loggedCommit
	// after is the time of the last commit of the file before it; zero for the first one. until is the last time of a
	// step that it may have, and authored that of its author.
	after, until, authored, committed time.Time
	// children counts the commits that it is a parent of.
	children int
	// text is that of the file in it, once it was followed.
	text *query.TracedText
}

// has reports whether a step at a time may be of the commit.
func (c *loggedCommit) has(at time.Time) bool {
	return at.After(c.after) && !wholeSeconds(at).After(c.until)
}

// wholeSeconds returns a time as git has it.
func wholeSeconds(at time.Time) time.Time { return at.Truncate(time.Second) }

// readHistory reads the commits of the file. A commit that a rebase moved behind later ones follows the last that was
// written before it.
func (f *blamedFile) readHistory(ctx context.Context) error {
	args := []string{"log", "--topo-order", "--reverse", "--parents", "--no-show-signature", "--format=%H %at %ct %P", "HEAD", "--"}
	out, err := runGit(ctx, f.top, append(args, f.names...)...)
	if err != nil {
		return err
	}
	all := map[string]*loggedCommit{}
	last := &loggedCommit{until: never, authored: never}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		c := &loggedCommit{id: words[0], authored: gitTime(words[1]), committed: gitTime(words[2])}
		if c.until = c.authored; c.committed.After(c.until) {
			c.until = c.committed
		}
		for _, id := range words[3:] {
			if parent := all[id]; parent != nil {
				parent.children++
				c.parents = append(c.parents, parent)
			}
		}
		c.findTimeBefore()
		all[c.id], f.history = c, append(f.history, c)
	}
	if n := len(f.history); n > 0 {
		newest := f.history[n-1]
		newest.children++
		last.parents, last.after = []*loggedCommit{newest}, newest.committed
	}
	f.history = append(f.history, last)
	return nil
}

// findTimeBefore finds when the last commit of the file was made before this one.
func (c *loggedCommit) findTimeBefore() {
	later := func(at time.Time) {
		if at.After(c.after) {
			c.after = at
		}
	}
	seen := map[*loggedCommit]bool{}
	for next := c.parents; len(next) > 0; {
		parent := next[0]
		next = next[1:]
		switch {
		case seen[parent]:
		case !parent.committed.After(c.authored):
			later(parent.committed)
		case !parent.authored.After(c.authored):
			later(parent.authored)
		default:
			next = append(slices.Clip(next), parent.parents...)
		}
		seen[parent] = true
	}
}

// findLogged returns the commit of lines in the history of the file, nil where that leaves it out.
func (f *blamedFile) findLogged(c *gitCommit) *loggedCommit {
	if !c.isCommitted() {
		return f.history[len(f.history)-1]
	}
	i := slices.IndexFunc(f.history, func(of *loggedCommit) bool { return of.id == c.id })
	if i < 0 {
		return nil
	}
	return f.history[i]
}

// eachText calls do with commits, in their order, and the text of the file in each.
func (f *blamedFile) eachText(ctx context.Context, commits []*loggedCommit, do func(c *loggedCommit, text string) error) error {
	var asked strings.Builder
	for _, name := range f.names {
		if strings.Contains(name, "\n") {
			return fmt.Errorf("the name %.200q has a line break, which git cat-file takes for two names", name)
		}
	}
	for _, c := range commits {
		for _, name := range f.names {
			if c.id != "" {
				asked.WriteString(c.id + ":" + name + "\n")
			}
		}
	}
	cmd := gitCommand(ctx, f.top, "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(asked.String())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	blobs := bufio.NewReader(out)
	err = func() error {
		for _, c := range commits {
			text := strings.Join(f.texts, "\n")
			found := false
			for range f.names {
				if c.id == "" {
					break
				}
				blob, has, err := readBlob(blobs)
				if err != nil {
					return fmt.Errorf("git cat-file: %w", err)
				}
				if !found {
					text, found = blob, has
				}
			}
			if err := do(c, text); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		out.Close() // git ends
		return errors.Join(err, ctx.Err(), ignoreExit(cmd.Wait()))
	}
	return cmd.Wait()
}

// ignoreExit returns nil for the exit of a program whose output was closed.
func ignoreExit(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}

// readBlob reads an object of the output of git cat-file --batch. has is false where the object is missing.
func readBlob(r *bufio.Reader) (blob string, has bool, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", false, err
	}
	words := strings.Fields(line)
	if strings.HasSuffix(line, " missing\n") || len(words) != 3 || words[1] != "blob" {
		return "", false, nil
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil || size > mostBlamed {
		return "", false, fmt.Errorf("an object has %.20q bytes, and %d MB are read", words[2], mostBlamed>>20)
	}
	text := make([]byte, size+1) // and a line break
	_, err = io.ReadFull(r, text)
	return string(text[:size]), true, err
}

// findNames finds the names that the file had: its own first, then as far as git follows it.
func (f *blamedFile) findNames(ctx context.Context) error {
	add := func(name string) {
		if name != "" && !slices.Contains(f.names, name) {
			f.names = append(f.names, name)
		}
	}
	add(f.path)
	for _, c := range f.commits {
		add(c.file)
	}
	out, err := runGit(ctx, f.top, "log", "-z", "--follow", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--diff-filter=R", "--name-status", "--format=", "HEAD", "--", f.path)
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+2 < len(fields); i += 3 { // the score, the old and the new name
		add(fields[i+1])
	}
	return err
}

// agentTrees is the folder below a work tree where Claude Code makes others, which it removes when they are merged.
const agentTrees = ".claude/worktrees/"

// placeIn returns a path of a session below the root of its work tree, and the root; "" for a path elsewhere.
func (f *blamedFile) placeIn(dir, path string) (rel, root string) {
	if !filepath.IsAbs(path) && dir != "" {
		path = dir + "/" + path
	}
	path = filepath.ToSlash(filepath.Clean(path))
	for _, tree := range f.roots {
		rel, is := strings.CutPrefix(path, tree.folder+"/")
		if !is {
			continue
		}
		root := strconv.Itoa(tree.number)
		if below, is := strings.CutPrefix(rel, agentTrees); is {
			name, inside, _ := strings.Cut(below, "/")
			return inside, root + "/" + name
		}
		return rel, root
	}
	return "", ""
}
