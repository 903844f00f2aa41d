package copilot

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// cli is Copilot CLI with a home, a project and a model of its own.
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

// ask gives a call of Copilot CLI a prompt, and returns the conversation that the model was
// sent first.
func (c *cli) ask(call, prompt string) []string {
	c.Helper()
	before := len(c.model.Requests(c))
	chattest.Run(c, c.work, c.home, call+" --allow-all-tools -p '"+prompt+"' </dev/null", c.env...)
	for _, r := range c.model.Requests(c)[before:] {
		if strings.HasSuffix(r.Path, "/chat/completions") {
			return sent(c, r.Body)
		}
	}
	c.Fatalf("%s: the model was asked nothing", call)
	return nil
}

// now is what Copilot CLI puts before the words of the user.
var now = regexp.MustCompile(`(?s)<current_datetime>.*?</current_datetime>\s*`)

// sent returns the messages of a request, a line for each, without the system prompt.
func sent(t testing.TB, text []byte) (list []string) {
	t.Helper()
	var of struct {
		Messages []struct {
			Role      string
			Content   string
			ToolCalls []struct{ Function struct{ Name string } } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatal(err)
	}
	for _, m := range of.Messages {
		if text := now.ReplaceAllString(m.Content, ""); text != "" && m.Role != "system" {
			list = append(list, m.Role+" "+text)
		}
		for _, call := range m.ToolCalls {
			list = append(list, "call "+call.Function.Name)
		}
	}
	return inOrder(list)
}

// inOrder returns messages with the results that follow each other in an order of their own:
// the file has them as the tools ended, and a request as they were called.
func inOrder(list []string) []string {
	from := 0
	for i := range len(list) + 1 {
		if i == len(list) || !strings.HasPrefix(list[i], "tool ") {
			slices.Sort(list[from:i])
			from = i + 1
		}
	}
	return list
}

// shown returns the messages of a state in the same way.
func shown(t testing.TB, s store.Store, h model.Header) (list []string) {
	t.Helper()
	for _, m := range storetest.Messages(t, s, h.Ref()) {
		role := m["role"].(string)
		for _, b := range m["content"].([]any) {
			block := b.(map[string]any)
			if call, ok := block["toolUse"].(map[string]any); ok {
				list = append(list, "call "+call["name"].(string))
			} else if result, ok := block["toolResult"].(map[string]any); ok {
				list = append(list, "tool "+result["content"].([]any)[0].(map[string]any)["text"].(string))
			} else if text, _ := block["text"].(string); role != "system" {
				list = append(list, role+" "+now.ReplaceAllString(text, ""))
			}
		}
	}
	return inOrder(list)
}

// Copilot CLI writes a session with two calls at once, resumes it, and starts two sub-agents,
// whose models are sent what Hindcast shows of them. From each message a session of Hindcast's
// own goes on, and the model is sent the messages that Hindcast shows.
func TestInterop_copilotCLI(t *testing.T) {
	c := newCLI(t)
	c.ask("copilot", "first question")
	s := open(t, filepath.Join(c.home, ".copilot"))
	session := storetest.Sessions(t, s)[0].ID
	c.ask("copilot --resume="+session, "run: ls -1\nrun: echo two")
	c.ask("copilot --resume="+session, "third question")
	asked := len(c.model.Requests(c))
	c.ask("copilot --resume="+session, "agent: look into it\nagent: look elsewhere")
	children := 0
	for _, h := range storetest.Headers(t, s, session) {
		child, err := s.Features().Across(t.Context(), h.Ref())
		if err != nil || child.Session == "" {
			continue
		}
		children++
		first := storetest.Headers(t, s, child.Session)[0]
		want := shown(t, s, first)
		if !slices.ContainsFunc(c.model.Requests(c)[asked:], func(r chattest.Request) bool { return slices.Equal(sent(t, r.Body), want) }) {
			t.Errorf("no model was sent what %s begins with: %q", child.Session, want)
		}
	}
	if n := len(storetest.Sessions(t, s)); children != 1 || n != 3 {
		t.Errorf("%d messages lead to the session of a sub-agent, and there are %d sessions", children, n)
	}
	const goOn = "and now go on"
	forked := 0
	for _, h := range storetest.Headers(t, s, session) {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref()})
		if err == nil {
			_, err = s.Apply(t.Context(), plan)
		}
		if err != nil {
			t.Logf("#%d: %v", h.Index, err)
			continue
		}
		forked++
		want := append(shown(t, s, h), "user "+goOn)
		if got := c.ask("copilot --resume="+plan.NewSession, goOn); !slices.Equal(got, want) {
			t.Errorf("from #%d %q the model is sent\n%s\nwant\n%s", h.Index, h.Title, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if forked < 10 {
		t.Errorf("%d forks of\n%s", forked, storetest.Draw(t, s, session))
	}
	if got := storetest.FaultCodes(t, s, session); got != "" {
		t.Errorf("the session has the faults %q", got)
	}
}

// Copilot CLI passes a damaged line over with the event that is whole in it, and goes on from the
// messages of both of two branches, as the verdicts say.
func TestInterop_copilotCLIDamage(t *testing.T) {
	c := newCLI(t)
	c.ask("copilot", "first question")
	s := open(t, filepath.Join(c.home, ".copilot"))
	session := storetest.Sessions(t, s)[0].ID
	first := storetest.Headers(t, s, session)[1]
	also := func(id, before, words string) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(c.home, ".copilot", "session-state", session, eventsFile), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(before + event("00000000-0000-4000-8000-00000000000"+id, first.ID, typeUser, `{"content":"`+words+`"}`) + "\n")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	also("1", `{"torn`, "in a damaged line")
	want := append(shown(t, s, first), "user second question")
	if got := c.ask("copilot --resume="+session, "second question"); !slices.Equal(got, want) {
		t.Errorf("behind a damaged line the model is sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	also("2", "", "another branch")
	list := storetest.Headers(t, s, session)
	want = append(shown(t, s, list[len(list)-1]), "user third question")
	if got := c.ask("copilot --resume="+session, "third question"); !slices.Equal(got, want) || !slices.Contains(got, "user second question") {
		t.Errorf("of two branches the model is sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Where a variable has Copilot CLI keep its sessions, Hindcast finds them.
func TestInterop_copilotCLIElsewhere(t *testing.T) {
	c := newCLI(t)
	elsewhere := "COPILOT_HOME=" + t.TempDir()
	c.ask(elsewhere+" copilot", "first question")
	chattest.Found(t, Kind(nil).Kind, c.home, elsewhere)
}
