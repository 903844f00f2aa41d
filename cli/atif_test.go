package cli_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/transcript"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest/skip"
)

// trajectoryDocument has the parts of a document in ATIF that the tests compare.
type trajectoryDocument struct {
	Session  string                `json:"session_id"`
	ID       string                `json:"trajectory_id"`
	Children []*trajectoryDocument `json:"subagent_trajectories"`
	Steps    []struct {
		Observation struct {
			Results []struct {
				Refs []struct {
					ID string `json:"trajectory_id"`
				} `json:"subagent_trajectory_ref"`
			}
		}
	}
}

// What --atif writes of every session of every store below testdata is read back by the kind atif: texts, calls, results, thoughts, tokens
// and prices. Harbor's own models take it.
func TestExport_atif(t *testing.T) {
	skip.Sequential(t)
	documents := t.TempDir()
	atif := realKinds()
	kinds, sessions, children, named := map[string]bool{}, 0, 0, 0
	for _, dir := range append(testdataStores(t), filepath.Join("..", "testdata", "coding", "aider", ".aider.chat.history.md")) {
		c := start(t, sample.Rows())
		c.Kinds = realKinds()
		code, out, _ := c.run(t, "sessions", dir, "--json")
		if code != 0 {
			continue // a folder of something else
		}
		var list []struct{ ID, Kind, Store string }
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatal(err)
		}
		for _, info := range list {
			address := cmp.Or(info.Store, dir)
			file := filepath.Join(documents, fmt.Sprintf("run %d.json", sessions))
			code, _, says := c.run(t, "export", address, info.ID, "--atif", "-o", file)
			if strings.Contains(says, "has no messages") || strings.Contains(says, "has no head") {
				continue
			}
			if code != 0 {
				t.Errorf("%s %s: %s", dir, info.ID, says)
				continue
			}
			sessions++
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var d trajectoryDocument
			if err := json.Unmarshal(text, &d); err != nil {
				t.Fatal(err)
			}
			from, err := c.Kinds.Open(t.Context(), address)
			if errors.Is(err, store.ErrUnrecognised) {
				continue // the store is in the folder, and has a line of its own
			}
			if err != nil {
				t.Fatal(err)
			}
			back, err := atif.Open(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			kinds[from.Kind()] = true
			run := strings.TrimSuffix(filepath.Base(file), ".json")
			all := []*trajectoryDocument{&d}
			for i := 0; i < len(all); i++ { // they nest
				id := run
				if i > 0 {
					id += "/" + strings.ReplaceAll(all[i].ID, "/", ".")
					children++
				}
				if was, is := spokenLines(t, from, all[i].Session), spokenLines(t, back, id); !slices.Equal(was, is) {
					t.Errorf("%s %s is %s\n%s\nand is read back as\n%s", dir, all[i].Session, id, strings.Join(was, "\n"), strings.Join(is, "\n"))
				}
				all = append(all, all[i].Children...)
				for _, step := range all[i].Steps {
					for _, result := range step.Observation.Results {
						named += len(result.Refs)
					}
				}
			}
			if err := from.Close(); err != nil {
				t.Error(err)
			}
			if err := back.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, k := range realKinds() {
		// The others have a server, an import, or no messages.
		if !kinds[k.Name] && !slices.Contains([]string{"sqlite", "jsonl", "s3", "postgres", "reflection", "llamaindex"}, k.Name) {
			t.Errorf("no session of %s was written", k.Name)
		}
	}
	if sessions < 150 || children < 9 || named < 6 { // a result that a compaction dropped names nothing
		t.Errorf("%d sessions with %d sub-agents, %d of them named by results", sessions, children, named)
	}
	t.Run("harbor", func(t *testing.T) { takenByHarbor(t, documents) })
}

// The document is of the snapshot that --only names, without what --redact hides, and one.
func TestExport_atifOfOne(t *testing.T) {
	projects := filepath.Join("..", "testdata", "coding", "claude-code", "projects")
	const session = "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789"
	c := start(t, sample.Rows())
	c.Kinds = realKinds()
	code, whole, says := c.run(t, "export", projects, session, "--atif")
	_, part, _ := c.run(t, "export", projects, session, "--atif", "--only", "#1", "--json")
	if code != 0 || strings.Count(part, `"step_id"`) != 2 || strings.Count(whole, `"step_id"`) <= 2 || !strings.Contains(part, `"timestamp":"2026-11-22T11:09:57`) {
		t.Errorf("%s%s%s", whole, part, says)
	}
	code, hidden, says := c.run(t, "export", projects, session, "--atif", "--redact-regex", "first question")
	if code != 0 || strings.Contains(hidden, "first question") || !strings.Contains(hidden, "[redacted regex 1]") || !strings.Contains(says, "1 secret") {
		t.Errorf("%s%s", hidden, says)
	}
	const starts = "9274231d-d69b-43e0-a377-784eb1749711"
	_, part, _ = c.run(t, "export", projects, starts, "--atif", "--only", "#10")
	_, before, _ := c.run(t, "export", projects, starts, "--atif", "--only", "#7")
	if !strings.Contains(part, `"subagent_trajectory_ref":[{"trajectory_id":"agent-ae8f2ad272e3e23b7"}]`) || strings.Contains(before, "agent-") {
		t.Errorf("%s%s", part, before)
	}
	for line, want := range map[string]int{
		"--atif --only #0..#1": 2, "--atif --whole": 2, "--atif --redact-path /nowhere": 1, session + " --atif": 2,
	} {
		if code, out, says := c.run(t, append([]string{"export", projects, session}, strings.Fields(line)...)...); code != want || out != "" {
			t.Errorf("%s: %d, %s%s", line, code, out, says)
		}
	}
	if code, _, says := c.run(t, "export", filepath.Join("..", "testdata", "llamaindex", "server.db"), "--atif"); code != 1 || !strings.Contains(says, "no messages") {
		t.Errorf("%d: %s", code, says)
	}
}

// takenByHarbor has the models of Harbor read documents.
func takenByHarbor(t *testing.T, documents string) {
	sdks := os.Getenv("HINDCAST_SDKS")
	if sdks == "" {
		skip.Missing(t, "HINDCAST_SDKS does not say where Harbor is")
	}
	program, err := filepath.Abs(filepath.Join("..", "testdata", "interop", "trajectory", "validate.py"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(sdks, "python", "venv", "bin", "python"), program, documents)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(sdks, "harbor", "packages"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), " documents\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// spokenLines returns the conversation at the head of a session: who said what, each call with its result, and the tokens.
func spokenLines(t *testing.T, s store.Store, session string) (lines []string) {
	t.Helper()
	line, err := query.ReadTimeline(t.Context(), s, session)
	if err != nil {
		t.Fatal(err)
	}
	head := line.Header(line.Head())
	state, err := s.State(t.Context(), head.Ref())
	if err != nil {
		t.Fatal(err)
	}
	tape, err := jsontape.Parse(state)
	if err != nil {
		t.Fatal(err)
	}
	c := conversation.Decode(tape)
	for _, m := range transcript.Of(c) {
		who, thoughts, texts, rest := m.Role, []string(nil), []string(nil), []string(nil)
		if who == conversation.UnknownRole.String() {
			who = "user"
		}
		for i := range m.Parts {
			part := &m.Parts[i]
			switch {
			case part.Thought():
				who = "assistant"
				if part.Text != "" {
					thoughts = append(thoughts, part.Text)
				}
			case part.Kind == "toolCall":
				who = "assistant"
				rest = append(rest, fmt.Sprintf("calls %s %s %s", part.Tool, ownID.ReplaceAllString(part.CallID, ""), argumentsOf(part.Input)))
				if part.Status != "pending" {
					rest = append(rest, fmt.Sprintf("  %v %s", part.Status == "error", resultLine(part)))
				}
			case part.Kind == "toolResult":
				rest = append(rest, "tool says "+resultLine(part))
			case part.Kind != "cachePoint":
				if text := partLine(part); text != "" {
					texts = append(texts, text)
				}
			}
		}
		if len(thoughts) > 0 {
			lines = append(lines, "thinks "+strings.Join(thoughts, "\n\n"))
		}
		for _, text := range texts {
			lines = append(lines, who+" says "+text)
		}
		lines = append(lines, rest...)
		if u := conversation.UsageOf(tape, c.Message(m.Index).Node); who == "assistant" && (u.Counted || u.Priced) {
			lines = append(lines, fmt.Sprintf("took %v %v %v %v", u.Input, u.Output, u.CacheRead, u.Cost))
		}
	}
	return lines
}

// ownID is an id that Hindcast gives a call that has none.
var ownID = regexp.MustCompile(`call_[0-9]+$`)

func argumentsOf(input json.RawMessage) string {
	switch text := string(jsontape.AppendCompact(nil, input)); {
	case text == "" || text == "null":
		return "{}"
	case text[0] != '{':
		return `{"input":` + text + `}`
	default:
		return text
	}
}

// resultLine returns the texts of a result, "picture" for a picture.
func resultLine(part *transcript.Part) string {
	var texts []string
	for i, output := range part.Output {
		text := transcript.Plain(output)
		if text == "unknown block image" || slices.ContainsFunc(part.Pictures, func(p transcript.Picture) bool { return p.Output == i }) {
			text = "picture"
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// partLine returns a part of a message that is neither a call nor a result.
func partLine(part *transcript.Part) string {
	switch {
	case part.Text != "":
		return part.Text
	case len(part.Pictures) > 0 || strings.Contains(string(part.Value), `"data:image/`):
		return "picture"
	case part.ShownJSON() != nil:
		return transcript.Plain(part.ShownJSON())
	case part.Label == conversation.BlankText:
		return ""
	}
	return part.Label
}
