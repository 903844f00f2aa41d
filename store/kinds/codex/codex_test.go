package codex

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

const recorded = "../../../testdata/coding/codex"

// Threads and rollouts of testdata.
const (
	whole    = "01a202f5-bfd0-70d1-aab1-5dc3e55b81bb" // four turns, the last reverted
	forked   = "01a202f8-ac78-7030-8227-130b069fca01" // of whole after two turns, compacted
	envelope = "01a20304-5337-7113-81f0-ba209759045b" // of 0.77
	resumed  = "01a20bc3-2a84-71c2-8053-bc29e9e6682b" // of 0.118, a fork, and resumed by 0.169
	old      = "01a20bc3-1de1-7a92-aa36-a0490d1adcff" // of 0.118, packed: resumed was forked from it
	bare     = "ad26b39f-bddc-4666-a790-7b8a7c4a1ad7" // of 0.20
	parent   = "01a20b78-db17-7131-bcff-a7d643b0ac7b"
	child    = "01a20b78-dc00-79e0-9ac6-379f53c933d9"

	day22        = "sessions/2026/11/22/"
	wholeFile    = day22 + "rollout-2026-11-22T11-13-12-" + whole + ".jsonl"
	segmentFile  = day22 + "rollout-2026-11-22T11-16-57-" + whole + "_01a202f9-38a4-77c2-a26c-57d3ac9e67d0.jsonl"
	forkedFile   = day22 + "rollout-2026-11-22T11-16-21-" + forked + ".jsonl"
	segmentStart = "2026-11-22T11:16:57Z"
)

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, recorded) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil).Kind, recorded) }

// opened opens a store until the end of the test.
func opened(t *testing.T, path string) store.Store {
	t.Helper()
	s, err := Kind(nil).Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// tree says what a session is: a line for each snapshot, "#2<1 user input: first question",
// with a star at the head, and behind a bar why it is off the path.
func treeOf(t *testing.T, s store.Store, session string) (lines []string) {
	t.Helper()
	list := storetest.Headers(t, s, session)
	at := map[string]int{"": -1}
	for i, h := range list {
		at[h.ID] = i
	}
	line := model.NewTimeline(list)
	for i, h := range list {
		from, known := at[h.ParentID]
		text := fmt.Sprintf("#%d<%d %s: %.24s", i, from, h.EventText(), h.Title)
		if !known {
			t.Errorf("#%d follows %q, which is not there", i, h.ParentID)
		}
		if h.Head {
			text += " *"
		}
		if h.Orphaned {
			text += " | " + line.Reason(model.Node(i)).Kind.String()
		}
		lines = append(lines, text)
	}
	return lines
}

func holdLines(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if all := strings.Split(strings.TrimSpace(want), "\n"); !slices.Equal(got, all) {
		t.Errorf("%s is\n%s\nand not\n%s", what, strings.Join(got, "\n"), strings.Join(all, "\n"))
	}
}

func TestTree(t *testing.T) {
	s := opened(t, recorded)
	for session, want := range map[string]string{
		whole: `
#0<-1 context: ## Skills A skill is a s
#1<0 context: cwd: /home/demo1, shell:
#2<1 user input: first question
#3<2 turn end: reply to: first question
#4<3 user input: run: ls -1
#5<4 after model: $ ls -1
#6<5 tool iteration: $ ls -1  a.txt
#7<6 turn end: done: ls -1
#8<7 user input: third question
#9<8 turn end: reply to: third question
#10<9 user input: after rollback | rewind
#11<10 turn end: reply to: after rollback | rewind
#12<9 user input: after revert
#13<12 turn end: reply to: after revert *`,
		forked: `
#0<-1 context: ## Skills A skill is a s
#1<0 context: cwd: /home/demo1, shell:
#2<1 user input: first question
#3<2 turn end: reply to: first question
#4<3 user input: run: ls -1
#5<4 after model: $ ls -1
#6<5 tool iteration: $ ls -1  a.txt
#7<6 turn end: done: ls -1
#8<7 user input: in the fork
#9<8 turn end: reply to: in the fork
#10<9 after model: reply to: ocused on help
#11<10 compaction: Another language model s
#12<11 user input: after compaction
#13<12 turn end: reply to: after compacti *`,
		envelope: `
#0<-1 context: # AGENTS.md instructions
#1<0 context: cwd: /home/demo1, approv
#2<1 user input: first question
#3<2 turn end: reply to: first question
#4<3 user input: run: ls -1
#5<4 after model: $ ls -1
#6<5 tool iteration: $ ls -1  a.txt
#7<6 turn end: done: ls -1 *`,
		resumed: `
#0<-1 context: Filesystem sandboxing de
#1<0 context: cwd: /home/demo1, shell:
#2<1 user input: first question
#3<2 turn end: reply to: first question
#4<3 user input: run: ls -1 run: false
#5<4 after model: $ ls -1
#6<5 after model: $ false
#7<6 tool iteration: $ ls -1  a.txt
#8<7 tool iteration: $ false  exit 1
#9<8 turn end: done: ls -1; false
#10<9 user input: third question | rewind
#11<10 turn end: reply to: third question | rewind
#12<9 user input: after rollback
#13<12 turn end: reply to: after rollback
#14<13 user input: run: sleep 20
#15<14 after model: $ sleep 20
#16<15 tool iteration: $ sleep 20  aborted by u
#17<16 context: The user interrupted the
#18<17 user input: after abort
#19<18 turn end: reply to: after abort
#20<19 user input: in the fork
#21<20 turn end: reply to: in the fork
#22<21 compaction: Another language model s
#23<22 context: Filesystem sandboxing de
#24<23 context: cwd: /home/demo1, shell:
#25<24 user input: after compaction
#26<25 turn end: reply to: after compacti
#27<26 context: ## Skills A skill is a s
#28<27 context: cwd: /home/demo1, shell:
#29<28 context: ## Skills update No sele
#30<29 user input: legacy 118 fork
#31<30 turn end: reply to: legacy 118 for *`,
		old: `
#0<-1 context: Filesystem sandboxing de
#1<0 context: cwd: /home/demo1, shell:
#2<1 user input: first question
#3<2 turn end: reply to: first question
#4<3 user input: run: ls -1 run: false
#5<4 after model: $ ls -1
#6<5 after model: $ false
#7<6 tool iteration: $ ls -1  a.txt
#8<7 tool iteration: $ false  exit 1
#9<8 turn end: done: ls -1; false
#10<9 user input: third question | rewind
#11<10 turn end: reply to: third question | rewind
#12<9 user input: after rollback
#13<12 turn end: reply to: after rollback
#14<13 user input: run: sleep 20
#15<14 after model: $ sleep 20
#16<15 tool iteration: $ sleep 20  aborted by u
#17<16 context: The user interrupted the
#18<17 user input: after abort
#19<18 turn end: reply to: after abort *`,
		bare: `
#0<-1 user input: first question
#1<0 turn end: reply to: first question *`,
	} {
		holdLines(t, "session "+session, treeOf(t, s, session), want)
	}
	titles := map[string]string{}
	for _, info := range storetest.Sessions(t, s) {
		titles[info.ID] = info.Title + " in " + info.Project
	}
	for session, want := range map[string]string{
		whole: "first question in /home/demo1", forked: "in the fork in /home/demo1", envelope: "first question in /home/demo1",
		bare: "first question in ", parent + "/" + child: "look around in /home/demo/project",
	} {
		if titles[session] != want {
			t.Errorf("session %s is %q and not %q", session, titles[session], want)
		}
	}
}

// What a revert left names the time at which it was left, and where the session went on.
func TestTree_reasonOfRevert(t *testing.T) {
	list := storetest.Headers(t, opened(t, recorded), whole)
	why := list[10].Reason
	if why == nil || why.At.Format("2006-01-02T15:04:05Z07:00") != segmentStart || why.TargetID != list[9].ID {
		t.Errorf("it is %+v, and the session went on from %s", why, list[9].ID)
	}
}

// A sub-agent is a session of the one that started it, reached from the tool call.
func TestTree_subAgent(t *testing.T) {
	s := opened(t, recorded)
	holdLines(t, "the sub-agent", treeOf(t, s, parent+"/"+child), `
#0<-1 context: ## Skills A skill is a s
#1<0 context: cwd: /home/demo/project,
#2<1 user input: look around
#3<2 turn end: reply to: look around *`)
	list := storetest.Headers(t, s, parent)
	facts, err := s.Features().Facts(t.Context(), list[3].Ref())
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Value == parent+"/"+child }) {
		t.Errorf("%q has the facts %v: %v", list[3].Title, facts, err)
	}
}

// A folder of the storage opens what is in it, and a file the one session, also a segment.
func TestOpen_parts(t *testing.T) {
	for path, want := range map[string]int{
		"": 9, "sessions": 9, "sessions/2026": 9, "sessions/2026/11/22": 5, wholeFile: 1, segmentFile: 1, forkedFile: 1,
	} {
		address := filepath.Join(recorded, filepath.FromSlash(path))
		if _, ok, err := Kind(nil).Recognise(t.Context(), address); err != nil || !ok {
			t.Errorf("%q is not recognised: %v", path, err)
		}
		if got := len(storetest.Sessions(t, opened(t, address))); got != want {
			t.Errorf("%q has %d sessions and not %d", path, got, want)
		}
	}
	holdLines(t, "the fork alone", treeOf(t, opened(t, filepath.Join(recorded, forkedFile)), forked)[7:9], `
#7<6 turn end: done: ls -1
#8<7 user input: in the fork`)
}

// indexed makes the index of threads, with rows of an id, a rollout, a title, and a name, or
// the source of a sub-agent.
func indexed(t *testing.T, dir, name string, rows ...[4]string) {
	t.Helper()
	statements := []string{`CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, source TEXT NOT NULL, cwd TEXT NOT NULL,
		title TEXT NOT NULL, archived INTEGER NOT NULL DEFAULT 0, name TEXT)`}
	for _, r := range rows {
		statements = append(statements, fmt.Sprintf(`INSERT INTO threads VALUES ('%s', '%s', iif('%[4]s' LIKE '{%%', '%[4]s', 'exec'), '/home/demo1', '%[3]s', 0, nullif('%[4]s', ''))`, r[0], r[1], r[2], r[3]))
	}
	fill(t, filepath.Join(dir, name), statements...)
}

// fill makes a database.
func fill(t *testing.T, file string, statements ...string) {
	t.Helper()
	write(t, file, "")
	db := sqlitefile.NewOwn(file, "", nil)
	err := db.Fill(t.Context(), func(tx *sqlitefile.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(t.Context(), s); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// The index of threads names the rollout that Codex goes on from, and the title.
func TestIndex(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	indexed(t, dir, "state_4.sqlite", [4]string{whole, "/gone/" + segmentFile, "of an older generation"})
	indexed(t, dir, "state_5.sqlite",
		[4]string{whole, `C:\Users\demo\.codex\` + strings.ReplaceAll(wholeFile, "/", `\`), "a title", "a name"},
		[4]string{forked, "/home/demo/.codex/" + day22 + "rollout-2026-11-22T11-16-21-gone.jsonl", "in the fork", ""})
	untouched := storetest.Untouched(t, dir)
	s := opened(t, dir)
	list := treeOf(t, s, whole)
	holdLines(t, "the end of the session", list[9:], `
#9<8 turn end: reply to: third question
#10<9 user input: after rollback
#11<10 turn end: reply to: after rollback *
#12<9 user input: after revert | pointer
#13<12 turn end: reply to: after revert | pointer`)
	for _, info := range storetest.Sessions(t, s) {
		if want := map[string]string{whole: "a name", forked: "in the fork"}[info.ID]; want != "" && info.Title != want {
			t.Errorf("session %s is called %q and not %q", info.ID, info.Title, want)
		}
	}
	faults := storetest.Faults(t, s, "")
	if len(faults) != 1 || faults[0].Code != FaultIndex || !strings.Contains(faults[0].Meaning, "gone.jsonl") {
		t.Errorf("the faults are %v", faults)
	}
	untouched()
}

// Codex keeps the index where the settings say, else where the environment says: that is about
// Codex's own storage alone, and about no copy of it.
func TestIndex_elsewhere(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for name, tt := range map[string]struct {
		settings, sqliteHome, codexHome string
		in                              func(dir string) string
		moved                           bool
	}{
		"nothing says":                      {"", "", "", func(dir string) string { return dir }, true},
		"the settings":                      {"sqlite_home = '" + other + "'", "/nowhere", "", func(string) string { return other }, true},
		"the settings, from the folder on":  {"sqlite_home = 'db'\n[features]\n", "", "", func(dir string) string { return filepath.Join(dir, "db") }, true},
		"the settings, from home on":        {"sqlite_home = '~/db'", "", "", func(string) string { return filepath.Join(home, "db") }, true},
		"the environment":                   {"model = 'm'", " " + other + "\n", "DIR", func(string) string { return other }, true},
		"the environment, from home on":     {"", "~/db", "DIR", func(string) string { return filepath.Join(home, "db") }, true},
		"the environment, of another home":  {"", other, home, func(string) string { return other }, false},
		"settings that cannot be read":      {"sqlite_home = [", other, "DIR", func(string) string { return other }, true},
		"a folder of the index that is not": {"", filepath.Join(other, "none"), "DIR", func(dir string) string { return dir }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := storetest.Copy(t, recorded)
			t.Setenv("CODEX_HOME", strings.Replace(tt.codexHome, "DIR", dir, 1))
			t.Setenv("CODEX_SQLITE_HOME", tt.sqliteHome)
			write(t, filepath.Join(dir, "config.toml"), tt.settings)
			at := tt.in(dir)
			indexed(t, at, "state_5.sqlite", [4]string{whole, wholeFile, "a title", "a name"})
			t.Cleanup(func() { _ = os.Remove(filepath.Join(at, "state_5.sqlite")) })
			s := opened(t, dir)
			if got := strings.HasSuffix(treeOf(t, s, whole)[11], " *"); got != tt.moved {
				t.Errorf("the index decides where the session goes on: %t, want %t", got, tt.moved)
			}
			if !tt.moved {
				if faults := storetest.Faults(t, s, ""); len(faults) != 0 {
					t.Errorf("without an index the faults are %v", faults)
				}
				return
			}
			if err := os.Remove(filepath.Join(at, "state_5.sqlite")); err != nil {
				t.Fatal(err)
			}
			indexed(t, at, "state_5.sqlite", [4]string{whole, segmentFile, "a title", "a name"})
			if !strings.HasSuffix(treeOf(t, s, whole)[13], " *") {
				t.Error("a change of the index is not seen")
			}
		})
	}
}

// An index that cannot be read is a fault, and the newest segment is the head.
func TestIndex_damaged(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	write(t, filepath.Join(dir, "state_5.sqlite"), strings.Repeat("no database ", 1000))
	s := opened(t, dir)
	if faults := storetest.Faults(t, s, ""); len(faults) != 1 || faults[0].Code != FaultIndexRead {
		t.Errorf("the faults are %v", faults)
	}
	if list := treeOf(t, s, whole); !strings.HasSuffix(list[13], "*") {
		t.Errorf("the head is not the last of %q", list)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// codes are the faults of a session, with the last words of each.
func codes(t *testing.T, s store.Store, session string) (list []string) {
	t.Helper()
	for _, f := range storetest.Faults(t, s, session) {
		words := strings.Split(f.Meaning, ": ")
		list = append(list, f.Code+" "+words[len(words)-1])
	}
	return list
}

// A lineage that Codex refuses is a fault in its words, and what the rollout has is shown. A fork
// of it says what it has not.
func TestLineage_broken(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir string)
		faults []string
		rows   int
		hazard string
	}{
		{"as recorded", func(string) {}, []string{"history-elsewhere the first part of the session is in " + wholeFile}, 14, ""},
		{"parent gone", func(dir string) {
			for _, name := range []string{wholeFile, segmentFile} {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}, []string{"broken-lineage missing source rollout"}, 6, "the history before #0 is not there (missing source rollout): the fork begins without it"},
		{"parent archived", func(dir string) {
			write(t, filepath.Join(dir, archived, filepath.Base(wholeFile)), read(t, filepath.Join(dir, wholeFile)))
			if err := os.Remove(filepath.Join(dir, wholeFile)); err != nil {
				t.Fatal(err)
			}
		}, []string{"history-elsewhere the first part of the session is in archived_sessions/" + filepath.Base(wholeFile) + ", which is archived"}, 14, ""},
		{"parent cut", func(dir string) {
			write(t, filepath.Join(dir, wholeFile), read(t, filepath.Join(dir, wholeFile))[:40987])
		}, []string{"broken-lineage cutoff byte offset is past the source rollout", "history-elsewhere the first part of the session is in " + wholeFile}, 13, "Codex refuses the history before #7 (cutoff byte offset is past the source rollout): the fork has the part of it that exists"},
		{"offset inside a record", func(dir string) {
			write(t, filepath.Join(dir, forkedFile), strings.Replace(read(t, filepath.Join(dir, forkedFile)), `"end_byte_offset":43901`, `"end_byte_offset":43900`, 1))
		}, []string{"broken-lineage cutoff byte offset is not at a complete JSONL record", "history-elsewhere the first part of the session is in " + wholeFile}, 14, "Codex refuses the history before #8 (cutoff byte offset is not at a complete JSONL record): the fork has the part of it that exists"},
		{"circle", func(dir string) {
			text := read(t, filepath.Join(dir, wholeFile))
			write(t, filepath.Join(dir, wholeFile), strings.Replace(text, `"history_mode":"paginated",`, `"history_mode":"paginated","history_base":{"thread_id":"`+forked+`","end_ordinal_exclusive":29,"end_byte_offset":22023},`, 1))
		}, nil, 14, "the history before #0 is not there (cycle detected): the fork begins without it"},
		{"another thread's", func(dir string) {
			text := read(t, filepath.Join(dir, wholeFile))
			write(t, filepath.Join(dir, wholeFile), strings.Replace(text, `"id":"`+whole+`"`, `"id":"`+child+`"`, 1))
		}, []string{"broken-lineage source rollout filename or metadata belongs to another thread", "history-elsewhere the first part of the session is in " + wholeFile}, 14, "Codex refuses the history before #8 (source rollout filename or metadata belongs to another thread): the fork has the part of it that exists"},
		{"two reasons", func(dir string) {
			write(t, filepath.Join(dir, forkedFile), strings.NewReplacer(`"history_mode":"paginated"`, `"history_mode":"legacy"`, `"end_byte_offset":43901`, `"end_byte_offset":43900`).Replace(read(t, filepath.Join(dir, forkedFile))))
		}, []string{"broken-lineage cutoff byte offset is not at a complete JSONL record", "broken-lineage source rollout mixes history modes", "history-elsewhere the first part of the session is in " + wholeFile}, 14, "Codex refuses the history before #8 (source rollout mixes history modes, cutoff byte offset is not at a complete JSONL record): the fork has the part of it that exists"},
		{"another history mode", func(dir string) {
			write(t, filepath.Join(dir, forkedFile), strings.Replace(read(t, filepath.Join(dir, forkedFile)), `"history_mode":"paginated"`, `"history_mode":"legacy"`, 1))
		}, []string{"broken-lineage source rollout mixes history modes", "history-elsewhere the first part of the session is in " + wholeFile}, 14, "Codex refuses the history before #8 (source rollout mixes history modes): the fork has the part of it that exists"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := storetest.Copy(t, recorded)
			c.change(dir)
			s := opened(t, dir)
			got := codes(t, s, forked)
			slices.Sort(got)
			if c.faults == nil {
				if !slices.ContainsFunc(got, func(f string) bool { return f == "broken-lineage cycle detected" }) {
					t.Errorf("the faults are %q", got)
				}
			} else if !slices.Equal(got, c.faults) {
				t.Errorf("the faults are %q and not %q", got, c.faults)
			}
			if list := treeOf(t, s, forked); len(list) != c.rows {
				t.Errorf("it has %d snapshots and not %d: %q", len(list), c.rows, list)
			}
			head := storetest.Headers(t, s, forked)[c.rows-1]
			plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: head.Ref()})
			if err != nil {
				t.Fatal(err)
			}
			if whole := strings.Contains(strings.Join(plan.Writes, "\n"), "stands by itself"); whole != (c.hazard == "") || c.hazard != "" && !slices.Contains(plan.Hazards, c.hazard) {
				t.Errorf("a fork writes %q, with the hazards %q", plan.Writes, plan.Hazards)
			}
		})
	}
}

// pack packs the rollouts of a store, as Codex does with those that are old.
func pack(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "sessions/*/*/*/*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the rollouts are %q: %v", files, err)
	}
	to, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		write(t, file+packed, string(to.EncodeAll([]byte(read(t, file)), nil)))
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// A packed rollout reads as the plain one, and so do the sessions that have their history in
// it. A fork of it is plain.
func TestPacked(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	plain := opened(t, recorded)
	pack(t, dir)
	untouched := storetest.Untouched(t, dir)
	if _, ok, err := Kind(nil).Recognise(t.Context(), dir); err != nil || !ok {
		t.Errorf("the store is not recognised: %v", err)
	}
	s := opened(t, dir)
	was := storetest.Sessions(t, plain)
	if got := storetest.Sessions(t, s); len(got) != len(was) {
		t.Errorf("there are %d sessions and not %d", len(got), len(was))
	}
	for _, info := range was {
		holdLines(t, "packed session "+info.ID, treeOf(t, s, info.ID), strings.Join(treeOf(t, plain, info.ID), "\n"))
		if got, want := len(codes(t, s, info.ID)), len(codes(t, plain, info.ID)); got != want {
			t.Errorf("packed session %s has %d faults and not %d", info.ID, got, want)
		}
		for _, h := range storetest.Headers(t, s, info.ID) {
			if got, want := sent(t, s, h), sent(t, plain, h); !slices.Equal(got, want) {
				t.Errorf("#%d of packed session %s is %q and not %q", h.Index, info.ID, got, want)
			}
		}
	}
	untouched()
	if _, records := forkOf(t, dir, forked); len(records) < 40 {
		t.Errorf("the fork has %d records", len(records))
	}
}

// What cannot be unpacked is a fault, and what can be is shown.
func TestPacked_damaged(t *testing.T) {
	file := "sessions/2026/11/24/rollout-2026-11-24T04-14-26-" + old + ".jsonl" + packed
	was := read(t, filepath.Join(recorded, file))
	for name, c := range map[string]struct {
		text string
		rows int
	}{
		"more behind it": {was + "more", 20}, "cut": {was[:len(was)-1], 0}, "no frame": {"none", 0}, "empty": {"", 0},
	} {
		dir := storetest.Copy(t, recorded)
		write(t, filepath.Join(dir, file), c.text)
		s := opened(t, dir)
		if list := treeOf(t, s, old); len(list) != c.rows {
			t.Errorf("%s: the session is %q", name, list)
		}
		if got := codes(t, s, old); c.text != "" && (len(got) != 1 || !strings.HasPrefix(got[0], FaultPacked)) {
			t.Errorf("%s: the faults are %q", name, got)
		}
	}
}

// While Codex packs a rollout, both are there: the plain one counts.
func TestPacked_besides(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	write(t, filepath.Join(dir, envelopeFile+packed), "no frame")
	s := opened(t, dir)
	if n := len(storetest.Sessions(t, s)); n != 9 {
		t.Errorf("there are %d sessions", n)
	}
	if list := treeOf(t, s, envelope); len(list) != 8 {
		t.Errorf("the session is %q", list)
	}
}

// What is new in a segment is new in the list.
func TestSessions_segmentGrows(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	s := opened(t, dir)
	count := func() int {
		for _, info := range storetest.Sessions(t, s) {
			if info.ID == whole {
				return info.Snapshots
			}
		}
		return -1
	}
	before := count()
	write(t, filepath.Join(dir, segmentFile), read(t, filepath.Join(dir, segmentFile))+
		`{"timestamp":"2026-11-22T12:00:00.000Z","ordinal":50,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"more"}]}}`+"\n")
	if after := count(); before != 14 || after != 15 {
		t.Errorf("the list counts %d snapshots, and then %d", before, after)
	}
}

// A few packed bytes unpack to no more than they explain. What is unpacked up to there is shown,
// and how much that is, is bounded for many of them together. A long session of real text opens.
func TestPacked_bounds(t *testing.T) {
	skip.Sequential(t)
	head := `{"timestamp":"2026-11-24T02:53:19.581Z","type":"session_meta","payload":{"id":"01a20b78-db17-7131-bcff-a7d643b0ac7b","timestamp":"2026-11-24T02:53:19.513Z","cwd":"/home/demo"}}` + "\n"
	message := func(text string) string {
		return `{"timestamp":"2026-11-24T02:53:20.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + text + `"}]}}` + "\n"
	}
	noise := make([]byte, 15<<10)
	random := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		text func(w io.Writer)
		// least and most are how many snapshots are shown.
		least, most int
		fault       bool
	}{
		"one record for ever": {func(w io.Writer) { many(w, 400, strings.Repeat(" ", 1<<20)); io.WriteString(w, "\n") }, 1, 1, true},
		"records without end": {func(w io.Writer) { many(w, 400<<10, message("again")) }, 10_000, 30_000, true},
		"a long real session": {func(w io.Writer) {
			for range 4000 {
				for i := range noise {
					noise[i] = "abcdefghijklmnopqrstuvwxyz      "[random.IntN(32)]
				}
				io.WriteString(w, message(string(noise)))
			}
		}, 4000, 4001, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i := range 3 {
				var packedText bytes.Buffer
				to, err := zstd.NewWriter(&packedText)
				if err != nil {
					t.Fatal(err)
				}
				id := fmt.Sprintf("01a20b78-db17-7131-bcff-a7d643b0ac7%d", i)
				io.WriteString(to, strings.Replace(head, "01a20b78-db17-7131-bcff-a7d643b0ac7b", id, 1)+message("hello"))
				if c.text(to); to.Close() != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, "sessions/2026/11/24/rollout-2026-11-24T02-53-19-"+id+".jsonl"+packed), packedText.String())
				if !c.fault {
					break
				}
			}
			s := opened(t, dir)
			list := storetest.Sessions(t, s)
			for _, info := range list {
				if n := len(storetest.Headers(t, s, info.ID)); n < c.least || n > c.most {
					t.Errorf("session %s has %d snapshots", info.ID, n)
				}
				if got := codes(t, s, info.ID); slices.ContainsFunc(got, func(code string) bool { return strings.HasPrefix(code, FaultPacked) }) != c.fault {
					t.Errorf("the faults are %q", got)
				}
			}
			if len(list) == 0 {
				t.Error("no session is listed")
			}
		})
	}
}

// What many bombs together unpack to is bounded, and those that are cut say so; so is what they unpack to
// again, and what is open of them.
func TestPacked_bombsTogether(t *testing.T) {
	head := `{"timestamp":"2026-11-24T02:53:19.581Z","type":"session_meta","payload":{"id":"ID","timestamp":"2026-11-24T02:53:19.513Z","cwd":"/home/demo"}}` + "\n"
	const count = 100
	dir := t.TempDir()
	size := int64(0)
	for i := range count {
		id := fmt.Sprintf("01a20b78-db17-7131-bcff-a7d643b0a%03d", i)
		text := new(bytes.Buffer)
		to, err := zstd.NewWriter(text)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(to, strings.Replace(head, "ID", id, 1))
		many(to, 20, strings.Repeat(" ", 1<<20))
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		size += int64(text.Len())
		write(t, filepath.Join(dir, "sessions/2026/11/24/rollout-2026-11-24T02-53-19-"+id+".jsonl"+packed), text.String())
	}
	u := newUnpacker()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	on := unpacked{disk, &u}
	unpackAll := func() (total int64, cut int) {
		var reading sync.WaitGroup
		var mu sync.Mutex
		for i := range count {
			reading.Go(func() {
				name := fmt.Sprintf("sessions/2026/11/24/rollout-2026-11-24T02-53-19-01a20b78-db17-7131-bcff-a7d643b0a%03d.jsonl%s", i, packed)
				file, err := on.OpenFile(name)
				if err != nil {
					t.Error(err)
					return
				}
				n, err := io.Copy(io.Discard, io.NewSectionReader(file, 0, 1<<30))
				if err = errors.Join(err, file.Close()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if total += n; u.damageOf(name) != nil && strings.Contains(u.damageOf(name).Error(), "together") {
					cut++
				}
			})
		}
		reading.Wait()
		return total, cut
	}
	once, cut := unpackAll()
	if most := ratioUsual*size + mostBeyond; once > most || once < mostBeyond {
		t.Errorf("%d MB are unpacked of %d kB, at most %d are right", once>>20, size>>10, most>>20)
	}
	if cut < count/4 || cut == count {
		t.Errorf("%d of %d are said to be cut", cut, count)
	}
	if again, _ := unpackAll(); again > once {
		t.Errorf("%d MB are unpacked the second time", again>>20)
	}
}

// many writes a text many times.
func many(w io.Writer, n int, text string) {
	for range n {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// A thread that an index has and no rollout is of is listed with what the index knows of it, and says that
// its file is gone. A folder with nothing else is a store all the same.
func TestIndex_sessionsWithoutFiles(t *testing.T) {
	const gone, named = "01a20000-0000-7000-8000-0000000000aa", "01a20000-0000-7000-8000-0000000000bb"
	for name, dir := range map[string]string{"beside rollouts": storetest.Copy(t, recorded), "alone": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			indexed(t, dir, "state_5.sqlite", [4]string{gone, "/home/demo/.codex/" + day22 + "rollout-2026-11-22T11-16-21-" + gone + ".jsonl", "fix the build", ""})
			lines := `{"id":"` + named + `","thread_name":"before","updated_at":"2026-11-21T10:00:00Z"}` + "\n" + `{"id":"` + named + `","thread_name":"renamed","updated_at":"2026-11-22T10:00:00Z"}` + "\n" +
				`{"id":"` + gone + `","thread_name":"in both","updated_at":"2026-11-22T10:00:00Z"}` + "\n{\n"
			if err := os.WriteFile(filepath.Join(dir, "session_index.jsonl"), []byte(lines), 0o600); err != nil {
				t.Fatal(err)
			}
			if why, ok, err := Kind(nil).Recognise(t.Context(), dir); !ok || err != nil {
				t.Errorf("it is no store: %q, %v", why, err)
			}
			s := opened(t, dir)
			found := map[string]string{}
			lost := map[string]string{named: "its file is gone: the index has the session \"renamed\"", gone: "its file \"rollout-2026-11-22T11-16-21-" + gone + ".jsonl\" is gone"}
			for _, info := range storetest.Sessions(t, s) {
				if info.ID != gone && info.ID != named {
					continue
				}
				if _, twice := found[info.ID]; twice {
					t.Errorf("%s is listed twice", info.ID)
				}
				found[info.ID] = info.Title
				if info.Snapshots != 0 || info.Faults != 1 {
					t.Errorf("%s is listed as %+v", info.ID, info)
				}
				if list := storetest.Faults(t, s, info.ID); len(list) != 1 || list[0].Code != FaultIndex || list[0].Severity != model.Loses || !strings.Contains(list[0].Meaning, lost[info.ID]) {
					t.Errorf("the faults of %s are %+v", info.ID, list)
				}
			}
			if want := map[string]string{gone: "fix the build", named: "renamed"}; !maps.Equal(found, want) {
				t.Errorf("the sessions without files are %q, want %q", found, want)
			}
			if faults := storetest.Faults(t, s, ""); len(faults) > 0 {
				t.Errorf("the store has %+v, which its sessions tell", faults)
			}
		})
	}
}

// opensCounted counts how often files of a name are opened.
type opensCounted struct {
	tree.Tree
	name  string
	opens int
}

func (t *opensCounted) OpenFile(name string) (tree.Opened, error) {
	if name == t.name {
		t.opens++
	}
	return t.Tree.OpenFile(name)
}

// The list of sessions is read once for all sessions whose files are gone, and again when it changed.
func TestIndex_readsTheListOnce(t *testing.T) {
	dir := t.TempDir()
	write := func(sessions int, at time.Time) {
		t.Helper()
		var lines strings.Builder
		for i := range sessions {
			fmt.Fprintf(&lines, `{"id":"01a20000-0000-7000-8000-%012d","thread_name":"one","updated_at":"2026-11-22T10:00:00Z"}`+"\n", i)
		}
		file := filepath.Join(dir, sessionIndex)
		if err := errors.Join(os.WriteFile(file, []byte(lines.String()), 0o600), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disk.Close() })
	on, f := &opensCounted{Tree: disk, name: sessionIndex}, newFormat(dir)
	in := engine.In{Tree: on, Memo: tree.NewMemo(&files.Memory{})}
	for round, sessions := range []int{50, 60} {
		write(sessions, time.Now().Add(time.Duration(round-2)*time.Hour))
		spots, err := f.Spots(t.Context(), in)
		if err != nil || len(spots) != sessions {
			t.Fatalf("%d sessions, %v", len(spots), err)
		}
		for _, at := range spots {
			if g, err := f.Glance(in, at); err != nil || g.Title != "one" {
				t.Errorf("%+v, %v", g, err)
			}
		}
		if on.opens != 2*(round+1) { // its head may be that of a rollout
			t.Errorf("it is opened %d times", on.opens)
		}
	}
}
