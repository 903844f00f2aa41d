package snapshots

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// hazard is a session of snapshot-hazards.txtar by the names of its files.
type hazard map[string][]byte

// hazards reads the archive. It has bytes that are not UTF-8, which is why it is
// taken apart here.
func hazards(t testing.TB) map[string]hazard {
	t.Helper()
	archive, err := os.ReadFile(filepath.Join(testdata, "snapshot-hazards.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]hazard)
	session, file := "", ""
	for line := range bytes.Lines(archive) {
		if header, ok := bytes.CutPrefix(line, []byte("-- ")); ok && bytes.HasSuffix(header, []byte(" --\n")) {
			session, file, _ = strings.Cut(strings.TrimSuffix(string(header), " --\n"), "/")
			if all[session] == nil {
				all[session] = hazard{}
			}
			all[session][file] = nil
		} else if session != "" {
			all[session][file] = append(all[session][file], line...)
		}
	}
	return all
}

// write lays the session out in a folder of snapshots. Its files are old enough
// to be remembered.
func (h hazard) write(t testing.TB, dir string) {
	t.Helper()
	for name, content := range h {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if name == "latest" {
			target = filepath.Join(dir, latestFile)
		}
		if name == "why" || string(content) == "(absent)\n" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if link, isLink := bytes.CutPrefix(content, []byte("-> ")); isLink {
			if err := os.Symlink(strings.TrimSpace(string(link)), target); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mustWrite(t, target, string(content))
		age(t, target)
	}
}

func mustWrite(t testing.TB, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// age makes a file one that nobody is writing any more.
func age(t testing.TB, file string) {
	t.Helper()
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
}

// snapshotsOf returns the folder of the snapshots of a session's one agent, as
// unified storage has it.
func snapshotsOf(dir, session string) string {
	agent := "agent"
	if strings.HasPrefix(session, "py-") {
		agent = "default"
	}
	return filepath.Join(dir, "session", session, "scopes", "agent", agent, "snapshots")
}

// hazardStore lays all hazards out in one store.
func hazardStore(t testing.TB) (*Store, []string) {
	t.Helper()
	dir := t.TempDir()
	all := hazards(t)
	for name, h := range all {
		h.write(t, snapshotsOf(dir, name))
	}
	return open(t, dir), slices.Sorted(maps.Keys(all))
}

func TestStore_drawsEveryHazard(t *testing.T) {
	s, names := hazardStore(t)
	all := hazards(t)
	counts := map[string]model.SessionInfo{}
	for _, info := range sessions(t, s) {
		counts[info.ID] = info
	}
	var text strings.Builder
	for _, name := range names {
		rows, found := storetest.Headers(t, s, name), storetest.Faults(t, s, name)
		fmt.Fprintf(&text, "%s: %s%s%s\n", name, all[name]["why"], picture(rows), pictureFaults(found))
		if info := counts[name]; info.Snapshots != len(rows) || info.Faults != len(model.Harmful(found)) {
			t.Errorf("%s: the list of sessions says %+v, and there are %d rows and %d faults", name, info, len(rows), len(found))
		}
	}
	golden(t, "snapshot-faults.txt", text.String())
}

// answer is what a real SDK said of one hazard, see
// testdata/interop/strands_snapshots.py and .mjs.
type answer struct {
	Refuses, Prompt string
	Messages        int
	Legacy          *answer
}

func answersOf(t testing.TB, name string) map[string]answer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, "snapshots-"+name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Answers map[string]answer }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all.Answers
}

// knowsMore are the hazards of which a store cannot tell what the SDK says,
// because that depends on the program which starts.
var knowsMore = map[string]string{
	"py-other-dialect":   "which SDK starts is not known where only the other one wrote",
	"ts-other-dialect":   "which SDK starts is not known where only the other one wrote",
	"py-manager-other":   "which conversation manager the program has is not known",
	"py-manager-summary": "which conversation manager the program has is not known",
}

// judge compares what the faults of snapshot_latest.json say with an answer.
func judge(t *testing.T, name string, found []model.Fault, a answer) {
	t.Helper()
	class, _, _ := strings.Cut(a.Refuses, ":")
	asked, _, _ := strings.Cut(a.Prompt, ":")
	refused, prompted := false, false
	for _, f := range found {
		if !strings.HasSuffix(f.File, latestFile) {
			continue
		}
		verdict := f.Verdict
		if both, ok := strings.CutPrefix(verdict, "Strands for Python "); ok {
			forPython, forTypeScript, _ := strings.Cut(both, "; for TypeScript ")
			if verdict = forPython; strings.HasPrefix(name, "ts-") {
				verdict = forTypeScript
			}
		}
		rest, refuses := strings.CutPrefix(verdict, "refuses to start: ")
		if refuses && a.Refuses == "" {
			t.Errorf("%s: %+v, but the SDK loads it", name, f)
		}
		got, _, _ := strings.Cut(rest, ":")
		refused = refused || refuses && (got == class || strings.HasPrefix(rest, class+","))
		prompted = prompted || asked != "" && strings.HasPrefix(verdict, "loads; ") && strings.Contains(verdict, asked)
	}
	if a.Refuses != "" && !refused {
		t.Errorf("%s: the SDK says %q, and the faults\n%s", name, a.Refuses, pictureFaults(found))
	}
	if a.Prompt != "" && !prompted {
		t.Errorf("%s: asked something the SDK says %q, and the faults\n%s", name, a.Prompt, pictureFaults(found))
	}
}

// What the verdicts say is what the SDKs do.
func TestFaults_sayWhatTheSDKsDo(t *testing.T) {
	skip.Sequential(t)
	s, names := hazardStore(t)
	answers := answersOf(t, "python-1.62.0")
	maps.Copy(answers, answersOf(t, "typescript-1.19.0"))
	legacyDir := t.TempDir()
	for name, a := range answers {
		if a.Legacy != nil {
			hazards(t)[name].write(t, filepath.Join(legacyDir, name, "scopes", "agent", "agent", "snapshots"))
		}
	}
	legacy := open(t, legacyDir)
	for _, name := range names {
		a, ok := answers[name]
		if !ok {
			t.Errorf("%s: no SDK was asked", name)
			continue
		}
		if knowsMore[name] == "" {
			judge(t, name, storetest.Faults(t, s, name), a)
		}
		if a.Legacy != nil {
			judge(t, name+" in legacy storage", storetest.Faults(t, legacy, name), *a.Legacy)
		}
		if a.Refuses == "" && a.Messages > 0 {
			head := slices.IndexFunc(storetest.Headers(t, s, name), func(h model.Header) bool { return h.Head })
			if head < 0 {
				t.Errorf("%s: the SDK starts from %d messages, and there is no head", name, a.Messages)
			}
		}
	}
}

// Names that the SDK which starts on a place refuses.
func TestFaults_ofNames(t *testing.T) {
	skip.Sequential(t)
	all := hazards(t)
	for _, c := range []struct {
		hazard, session, agent string
		verdicts               []string
	}{
		{"py-healthy", "My Session", "Über:agent", nil},
		{"py-healthy", " ", "default", []string{"refuses to start: ValueError: session_id is not a valid session identifier"}},
		{"ts-healthy", "My Session", "agent", []string{"refuses to start: Error: Identifier can only contain lowercase letters, numbers, hyphens, and underscores"}},
		{"ts-healthy", "my-session_2", "Agent", []string{"refuses to start: Error: Identifier can only contain lowercase letters, numbers, hyphens, and underscores"}},
		{"ts-healthy", "my-session_2", "agent", nil},
	} {
		dir := t.TempDir()
		all[c.hazard].write(t, filepath.Join(dir, "session", c.session, "scopes", "agent", c.agent, "snapshots"))
		var got []string
		for _, f := range storetest.Faults(t, open(t, dir), c.session) {
			if f.Code != FaultIdentifier {
				t.Errorf("%q: %+v", c.session, f)
			}
			got = append(got, f.Verdict)
		}
		if !slices.Equal(got, c.verdicts) {
			t.Errorf("%s in %q, %q: %q", c.hazard, c.session, c.agent, got)
		}
	}
}

// A name that is not UTF-8 is a name.
func TestSessions_ofAnyName(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	for _, name := range []string{"a\xff", "日本", "a b", "-", "a\tb\x1b[31m", "..."} {
		hazards(t)["py-healthy"].write(t, filepath.Join(dir, "session", name, "scopes", "agent", "default", "snapshots"))
		s := open(t, dir)
		rows := storetest.Headers(t, s, name)
		if len(rows) != 1 || rows[0].SessionID != name {
			t.Errorf("%q: %+v", name, rows)
		}
		state(t, s, rows[0])
	}
}
