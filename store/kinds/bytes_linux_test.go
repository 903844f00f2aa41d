package kinds_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/skip"
)

const (
	// mostSurveyed is how much of one file is read to find a store or to list it, in bytes.
	mostSurveyed = 64 << 10
	// padding is how much each file grows: more than all that a kind may read to recognise a store.
	padding = 8 << 20
	// mostSampled is how many files a kind looks into to recognise a store.
	mostSampled = 32
)

// reads returns how many bytes this process reads in the course of a function, by whatever call, and by how many.
func reads(t *testing.T, do func()) (n, calls int64) {
	t.Helper()
	count := func() (n, calls, own int64) {
		t.Helper()
		text, err := os.ReadFile("/proc/self/io")
		if err != nil {
			t.Fatal(err)
		}
		of := func(name string) int64 {
			t.Helper()
			_, rest, _ := bytes.Cut(text, []byte(name))
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			n, err := strconv.ParseInt(string(line), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		return of("rchar: "), of("syscr: "), int64(len(text))
	}
	n, calls, own := count()
	do()
	after, done, _ := count()
	return after - n - own, done - calls // to count is to read
}

// padded copies a store and makes each of its files larger by so many bytes: white space goes behind it as
// far as a survey may read, and a hole behind that. It returns the place of the copy, and how many files it has.
func padded(t *testing.T, address string, by int) (dir string, files int) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), filepath.Base(address))
	from := os.DirFS(filepath.Dir(address))
	err := fs.WalkDir(from, filepath.Base(address), func(name string, e fs.DirEntry, err error) error {
		to := filepath.Join(filepath.Dir(dir), filepath.FromSlash(name))
		if err != nil || e.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		files++
		space := strings.Repeat(" ", min(by, mostSurveyed)) + "\n"
		if err := os.WriteFile(to, append(data, space...), 0o600); err != nil || by < mostSurveyed {
			return err
		}
		return os.Truncate(to, int64(len(data)+by))
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, files
}

// To find a store reads a part of some of its files, whatever their size.
func TestSurvey_readsAPartOfEachFile(t *testing.T) {
	skip.Sequential(t)
	held := map[string]bool{}
	for kind, places := range addresses(t) {
		for _, address := range places {
			if strings.HasSuffix(address, ".db") || kind == "reflection" {
				continue
			}
			t.Run(kind+"/"+filepath.Base(address), func(t *testing.T) {
				held[kind] = true
				dir, files := padded(t, address, padding)
				for _, k := range allKinds {
					if k.Recognise == nil {
						continue
					}
					var ok bool
					n, _ := reads(t, func() { _, ok, _ = k.Recognise(t.Context(), dir) })
					if most := int64(mostSurveyed*min(files, mostSampled) + 1<<10); n > most {
						t.Errorf("%s reads %d bytes of %d files to recognise it, want at most %d", k.Name, n, files, most)
					}
					if k.Name == kind && !ok {
						t.Errorf("%s does not recognise it", k.Name)
					}
				}
			})
		}
	}
	for _, k := range allKinds {
		if inDatabase := slices.Contains([]string{"sqlite", "adk", "openai-agents", "mastra", "llamaindex", "dbos", "deepagents"}, k.Name); k.Recognise != nil && k.At == nil && !inDatabase != held[k.Name] {
			t.Errorf("%s: a store of it was looked at: %v", k.Name, held[k.Name])
		}
	}
}

// copies are sessions that lie where no agent keeps any, such as those that a person saved: in a folder of a name, and
// each in a file. The store is at a path from the folder around.
var copies = []struct {
	kind, name, at string
	write          storetest.Transcript
	file           func(project, id string, begun time.Time) string
}{
	{"claude-code", "saved", "saved", storetest.ClaudeTranscript, func(project, id string, _ time.Time) string { return "-" + project + "/" + id + ".jsonl" }},
	{"claude-code", "projects", "projects", storetest.ClaudeTranscript, func(project, id string, _ time.Time) string { return "-" + project + "/" + id + ".jsonl" }},
	{"claude-code", "one project", ".", storetest.ClaudeTranscript, func(_, id string, _ time.Time) string { return id + ".jsonl" }},
	{"pi", "saved", "saved", storetest.PiTranscript, func(project, id string, begun time.Time) string {
		return "--" + project + "--/" + begun.Format("2006-01-02T15-04-05-000Z") + "_" + id + ".jsonl"
	}},
	{"pi", "without names", "without names", storetest.PiTranscript, func(project, id string, _ time.Time) string { return project + "/" + id + ".jsonl" }},
	{"codex", "saved", "saved", codexTranscript, func(_, id string, begun time.Time) string {
		return begun.Format("2006/01/02/rollout-2006-01-02T15-04-05-") + id + ".jsonl"
	}},
	{"codex", "sessions", ".", codexTranscript, func(_, id string, begun time.Time) string {
		return begun.Format("2006/01/02/rollout-2006-01-02T15-04-05-") + id + ".jsonl"
	}},
	{"codex", "without names", "without names", codexTranscript, func(_, id string, _ time.Time) string { return id + ".jsonl" }},
	{"gemini-cli", "tmp", "tmp", geminiTranscript, func(project, id string, begun time.Time) string {
		return project + "/chats/session-" + begun.Format("2006-01-02T15-04-") + id[:8] + ".jsonl"
	}},
	{"qwen", "projects", "projects", qwenTranscript, func(project, id string, _ time.Time) string { return "-" + project + "/chats/" + id + ".jsonl" }},
	{"kimi", "sessions", "sessions", kimiTranscript, func(project, id string, _ time.Time) string {
		return "wd_" + project + "/session_" + id + "/agents/main/wire.jsonl"
	}},
	{"copilot-cli", "saved", "saved", copilotTranscript, func(_, id string, _ time.Time) string { return id + "/events.jsonl" }},
}

// transcript writes a header, a question, and answers until there are enough bytes. "ID" in them is that of the
// session.
func transcript(header, question, answer string) storetest.Transcript {
	return func(w *bufio.Writer, id string, _ time.Time, size, line int) {
		written := 0
		for text := header + "\n" + question; written < size; text = strings.ReplaceAll(answer, "TEXT", strings.Repeat("x ", line/2)) {
			n, _ := w.WriteString(strings.ReplaceAll(text, "ID", id) + "\n") // the flush tells of an error
			written += n
		}
	}
}

var (
	codexTranscript = transcript(
		`{"timestamp":"2026-11-27T10:00:00.000Z","type":"session_meta","payload":{"id":"ID","timestamp":"2026-11-27T10:00:00.000Z","cwd":"/home/demo/app","cli_version":"0.118.0","source":"vscode"}}`,
		`{"timestamp":"2026-11-27T10:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"do it"}]}}`,
		`{"timestamp":"2026-11-27T10:00:03.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"TEXT"}]}}`)
	geminiTranscript = transcript(
		`{"sessionId":"ID","projectHash":"x","startTime":"2026-11-27T10:00:00.000Z"}`,
		`{"id":"1","timestamp":"2026-11-27T10:00:01.000Z","type":"user","content":[{"text":"do it"}]}`,
		`{"id":"2","timestamp":"2026-11-27T10:00:02.000Z","type":"gemini","content":"TEXT"}`)
	qwenTranscript = transcript(
		`{"uuid":"1","parentUuid":null,"sessionId":"ID","timestamp":"2026-11-27T10:00:00.000Z","type":"system","subtype":"attribution_snapshot","systemPayload":{}}`,
		`{"uuid":"2","parentUuid":"1","sessionId":"ID","timestamp":"2026-11-27T10:00:01.000Z","type":"user","message":{"role":"user","parts":[{"text":"do it"}]}}`,
		`{"uuid":"3","parentUuid":"2","sessionId":"ID","timestamp":"2026-11-27T10:00:02.000Z","type":"assistant","message":{"role":"model","parts":[{"text":"TEXT"}]}}`)
	kimiTranscript = transcript(
		`{"type":"metadata","protocol_version":"1.5","created_at":1796024758550}`,
		`{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"do it"}],"id":"1","toolCalls":[],"origin":{"kind":"user"}},"time":1796024758696}`,
		`{"type":"context.append_loop_event","agentId":"main","event":{"type":"content.part","uuid":"2","turnId":"0","step":1,"stepUuid":"3","part":{"type":"text","text":"TEXT"}},"time":1796024759111}`)
	copilotTranscript = transcript(
		`{"type":"session.start","data":{"sessionId":"ID","context":{"cwd":"/home/demo"}},"id":"e1","timestamp":"2026-11-27T10:00:00.000Z","parentId":null}`,
		`{"type":"user.message","data":{"content":"do it"},"id":"e2","timestamp":"2026-11-27T10:00:01.000Z","parentId":"e1"}`,
		`{"type":"assistant.message","data":{"content":"TEXT"},"id":"e3","timestamp":"2026-11-27T10:00:02.000Z","parentId":"e2"}`)
)

// A store of Deep Agents Code, which may have gigabytes, is found and listed without a state.
func TestSurvey_readsNoStateOfDeepAgents(t *testing.T) {
	skip.Sequential(t)
	const most = 1 << 20
	path := storetest.Copy(t, filepath.Join(testdata, "langgraph", "deepagents.db"))
	rowstest.Execute(t, path, "UPDATE checkpoints SET checkpoint = CAST(checkpoint || zeroblob(1000000) AS BLOB) WHERE rowid > 3",
		"UPDATE writes SET value = CAST(value || zeroblob(1000000) AS BLOB) WHERE channel = 'messages' AND idx > 0")
	info, err := os.Stat(path)
	if err != nil || info.Size() < 64*most {
		t.Fatalf("%d bytes, %v", info.Size(), err)
	}
	n, _ := reads(t, func() {
		s, err := allKinds.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list := storetest.Sessions(t, s)
		if len(list) != 3 || s.Kind() != "deepagents" || list[2].Title != "first question" {
			t.Errorf("%s: %+v", s.Kind(), list)
		}
	})
	if n > most {
		t.Errorf("it reads %d bytes of %d, want at most %d", n, info.Size(), most)
	}
}

// A folder with a copy of sessions is found by a few of them, and listed the second time by what was noted.
func TestSurvey_listsACopyFromNotes(t *testing.T) {
	skip.Sequential(t)
	const sessions = 200
	for _, c := range copies {
		t.Run(c.kind+"/"+c.name, func(t *testing.T) {
			dir := t.TempDir()
			storetest.Home(t, filepath.Join(dir, c.name), sessions, sessions*600_000, c.write, c.file)
			noting := kinds.All(files.NewCache(t.TempDir()), "")
			list := func() {
				t.Helper()
				if code, out, errs := inProcessWith(t, noting, "", "sessions", dir); code != 0 || strings.Count(out, "\n") != 1+sessions {
					t.Errorf("exit %d, %d lines, %s", code, strings.Count(out, "\n"), errs)
				}
			}
			surveyed, looks := reads(t, func() {
				if stores := claims(t, dir); !slices.Equal(stores, []string{c.kind + " " + c.at}) {
					t.Errorf("the stores are %q", stores)
				}
			})
			first, opens := reads(t, list)
			again, reopens := reads(t, list)
			t.Logf("%d bytes in %d reads are surveyed, %d in %d listed, %d in %d listed again", surveyed, looks, first, opens, again, reopens)
			if surveyed > mostSurveyed*sessions || looks > 3*sessions {
				t.Error("the survey reads more than 64 kB of each session, or more often than thrice")
			}
			if again > surveyed+mostSurveyed*mostSampled || reopens > opens/2 {
				t.Error("the second list reads more than a survey does")
			}
			if nameless := c.name == "without names" && c.kind == "codex"; !nameless && again > first/5 { // all of whose files each kind samples
				t.Error("the second list reads more than a fifth of the first")
			}
		})
	}
}

// readWhole are the kinds of files that the list of sessions reads all of, each with the reason. Of any other kind of
// files it reads at most mostListed of each.
var readWhole = map[string]string{
	"aider":             "a file has the chats of a project one behind the other, and no index: it is read once, and again when it changed",
	"atif":              "a document of 56 kB and less is read once for each run in it",
	"agent-framework":   tellsSnapshots,
	"crewai":            tellsSnapshots,
	"genkit":            tellsSnapshots,
	"jsonl":             tellsSnapshots,
	"strands":           tellsSnapshots,
	"strands-snapshots": tellsSnapshots,
}

const (
	tellsSnapshots = "the list tells how many snapshots there are"
	mostListed     = 64 << 10
)

// To list sessions reads a part of each file where the kind can tell by that, whatever its size.
func TestSessions_readAPartOfEachFile(t *testing.T) {
	skip.Sequential(t)
	places, databases := addresses(t), databaseKinds(t)
	for _, k := range allKinds {
		if k.Recognise == nil || databases[k.Name] || readWhole[k.Name] != "" {
			continue
		}
		for _, address := range places[k.Name] {
			for _, by := range []int{20 << 10, 40 << 10, 55 << 10, padding} { // files are read whole up to some size
				t.Run(fmt.Sprintf("%s/%d kB more", k.Name, by>>10), func(t *testing.T) { readsAPart(t, k, address, by, mostListed) })
			}
		}
	}
}

// readsAPart has a kind list the sessions of a copy of a store, whose files are larger by so many bytes.
func readsAPart(t *testing.T, k store.Kind, address string, by int, most int64) {
	t.Helper()
	dir, n := padded(t, address, by)
	s, err := k.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	listed := 0
	read, _ := reads(t, func() {
		for _, err := range s.Sessions(t.Context()) {
			if listed++; err != nil {
				t.Error(err)
			}
		}
	})
	if most *= int64(n); read > most || listed == 0 {
		t.Errorf("%d bytes of %d files are read to list %d sessions, want at most %d", read, n, listed, most)
	}
}
