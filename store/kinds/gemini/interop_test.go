package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// cli is Gemini CLI with a home, a project and a model of its own.
type cli struct {
	testing.TB
	model      *chattest.Model
	home, work string
	env        []string
}

func newCLI(t *testing.T) *cli {
	a := chattest.StartAgent(t, agent.Name)
	return &cli{t, a.Model, a.Home, a.Work, a.Env}
}

// set sets Gemini CLI's general settings.
func (c *cli) set(general string) {
	c.Helper()
	settings := `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":` + general + `}`
	if err := os.WriteFile(filepath.Join(c.home, ".gemini", "settings.json"), []byte(settings), 0o600); err != nil {
		c.Fatal(err)
	}
}

// session returns the only file with the first question, and its content. A resume leaves
// another file where it is in a later minute.
func (c *cli) session() (file string, content []byte) {
	c.Helper()
	all, err := filepath.Glob(filepath.Join(c.home, ".gemini", "tmp", "*", chats, prefix+"*"))
	for _, name := range all {
		text, failed := os.ReadFile(name)
		err = errors.Join(err, failed)
		if !bytes.Contains(text, []byte("first question")) {
			continue
		}
		if file != "" {
			c.Fatalf("there are %q", all)
		}
		file, content = name, text
	}
	if file == "" || err != nil {
		c.Fatalf("%q, %v", all, err)
	}
	return file, content
}

// run runs a command.
func (c *cli) run(command string) string {
	c.Helper()
	return chattest.Run(c, c.work, c.home, command+" </dev/null", c.env...)
}

// ask gives a call of Gemini CLI a prompt, and returns the conversation that the model was
// sent first.
func (c *cli) ask(call, prompt string) []string {
	c.Helper()
	before := len(c.model.Requests(c))
	c.run(call + " -m gemini-2.5-flash -y -p '" + prompt + "'")
	for _, r := range c.model.Requests(c)[before:] {
		if strings.Contains(r.Path, "enerateContent") {
			return sent(c, r.Body)
		}
	}
	c.Fatalf("%s: the model was asked nothing", call)
	return nil
}

// filler is what Gemini CLI puts between the result of a tool and what the user says next.
const filler = "[The previous response was interrupted before it completed.]"

// sent returns the parts of a request, a line for each, without what Gemini CLI adds at each
// start. A result that the session has twice is sent twice.
func sent(t testing.TB, text []byte) (list []string) {
	t.Helper()
	var of struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				FunctionCall     *struct{ ID, Name string }
				FunctionResponse *struct {
					ID       string
					Response struct{ Output string }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatal(err)
	}
	for _, content := range of.Contents {
		for _, p := range content.Parts {
			switch {
			case p.FunctionCall != nil:
				list = append(list, "call "+p.FunctionCall.Name)
			case p.FunctionResponse != nil:
				list = append(list, "result "+p.FunctionResponse.Response.Output)
			case p.Text != filler && !strings.HasPrefix(strings.TrimSpace(p.Text), "<session_context>"):
				list = append(list, content.Role+" "+p.Text)
			}
		}
	}
	return slices.Compact(list)
}

// shown returns the parts of a state in the same way.
func shown(t testing.TB, s store.Store, h model.Header) (list []string) {
	t.Helper()
	for _, m := range storetest.Messages(t, s, h.Ref()) {
		role := map[any]string{"user": "user", "assistant": "model"}[m["role"]]
		for _, b := range m["content"].([]any) {
			block := b.(map[string]any)
			if call, ok := block["toolUse"].(map[string]any); ok {
				list = append(list, "call "+call["name"].(string))
			} else if result, ok := block["toolResult"].(map[string]any); ok {
				list = append(list, "result "+result["content"].([]any)[0].(map[string]any)["text"].(string))
			} else if text, _ := block["text"].(string); !strings.HasPrefix(text, "<session_context>") {
				list = append(list, role+" "+text)
			}
		}
	}
	return slices.Compact(list)
}

func (c *cli) open() storetest.Writer {
	c.Helper()
	return open(c, filepath.Join(c.home, ".gemini"))
}

const goOn = "and now go on"

// Gemini CLI writes a session with a call, resumes it, and goes back. From each message, also
// from what it went back over, a session of Hindcast's own goes on, and the model is sent
// the messages that Hindcast shows.
func TestInterop_geminiCLI(t *testing.T) {
	c := newCLI(t)
	// A resume in a later minute would have the next start delete the session.
	c.set(`{"disableAutoUpdate":true,"sessionRetention":{"enabled":false}}`)
	c.ask("gemini", "first question")
	c.ask("gemini --resume latest", "run: ls -1")
	s := c.open()
	session := storetest.Sessions(t, s)[0].ID
	// Back to before the second question, with the line of its own for that.
	file, text := c.session()
	for _, h := range storetest.Headers(t, s, session) {
		if h.Title == "run: ls -1" {
			text = append(text, rewind(h.ID)+"\n"...)
		}
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c.ask("gemini --resume "+session, "another question")

	forked, left := 0, 0
	for _, h := range storetest.Headers(t, s, session) {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref()})
		if err == nil {
			_, err = s.Apply(t.Context(), plan)
		}
		if err != nil {
			t.Logf("#%d: %v", h.Index, err)
			continue
		}
		if forked++; h.Orphaned {
			left++
		}
		want := append(shown(t, s, h), "user "+goOn)
		if got := c.ask("gemini --resume "+plan.NewSession, goOn); !slices.Equal(got, want) {
			t.Errorf("from #%d %q the model is sent\n%s\nwant\n%s", h.Index, h.Title, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if forked < 7 || left < 3 {
		t.Errorf("%d forks, %d of them from what was left:\n%s", forked, left, storetest.Draw(t, s, session))
	}
}

// Gemini CLI deletes the session that the alarm names, and not the copy.
func TestInterop_geminiCLI_deletes(t *testing.T) {
	c := newCLI(t)
	c.ask("gemini", "first question")
	file, text := c.session()
	// What a resume in a later minute leaves: the first line in another file.
	first, _, _ := strings.Cut(string(text), "\n")
	twin := filepath.Join(filepath.Dir(file), prefix+"2099-01-01T00-00-"+shortOf(filepath.Base(file))+".jsonl")
	if err := os.WriteFile(twin, []byte(first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := c.open()
	var session string
	for _, info := range storetest.Sessions(t, s) {
		if info.Title == "first question" {
			session = info.ID
		}
	}
	if got := storetest.FaultCodes(t, s, session); got != "loses "+FaultShared {
		t.Errorf("it has the faults %q", got)
	}
	list := storetest.Headers(t, s, session)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[len(list)-1].Ref()})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.run("gemini --list-sessions")
	for _, name := range []string{file, twin} {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s: %v: the alarm was for nothing", name, err)
		}
	}
	if got := c.ask("gemini --resume "+plan.NewSession, goOn); !slices.Contains(got, "user first question") {
		t.Errorf("the copy has %q", got)
	}
}

// Where a variable has Gemini CLI keep its sessions, Hindcast finds them.
func TestInterop_geminiCLIElsewhere(t *testing.T) {
	c := newCLI(t)
	elsewhere := "GEMINI_CLI_HOME=" + c.home
	c.home = t.TempDir()                                                 // which has no settings
	c.run(elsewhere + " gemini -m gemini-2.5-flash -p 'first question'") // else it asks which model to take, over and over
	chattest.Found(t, Kind(nil).Kind, c.home, elsewhere)
}
