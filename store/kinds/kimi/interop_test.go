package kimi

import (
	"encoding/json"
	"fmt"
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

// runCLI runs a call of Kimi Code in a project, and returns the requests that it sends to a model of its own.
func runCLI(t *testing.T, home, work, call string, env ...string) []chattest.Request {
	t.Helper()
	bin := filepath.Dir(chattest.Program(t, "kimi-code", "node_modules", ".bin", "kimi"))
	llm := chattest.Start(t)
	env = append(env, "KIMI_MODEL_NAME=scripted", "KIMI_MODEL_API_KEY=scripted", "KIMI_MODEL_PROVIDER_TYPE=openai", "KIMI_MODEL_BASE_URL="+llm.URL+"/v1",
		"KIMI_CODE_NO_AUTO_UPDATE=1")
	chattest.Run(t, work, home, "export PATH="+bin+":$PATH; "+call+" </dev/null", env...)
	return llm.Requests(t)
}

// added matches the words that Kimi Code puts before the result of a tool, and reminder a message that it writes by itself.
var (
	added    = regexp.MustCompile(`^(Wall time: .*\n)?(<system>.*</system>\n)?`)
	reminder = regexp.MustCompile(`(?s)^<system-reminder>.*</system-reminder>$`)
)

// sentTexts returns the texts and the calls of the messages of a request in their order, without reminders.
func sentTexts(t testing.TB, body []byte) (list []string) {
	t.Helper()
	var of struct {
		Messages []struct {
			Role    string
			Content *string
			Calls   []struct{ Function struct{ Name string } } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &of); err != nil {
		t.Fatal(err)
	}
	for _, m := range of.Messages {
		if m.Content != nil && m.Role != "system" && !reminder.MatchString(*m.Content) {
			text := *m.Content
			if m.Role == "tool" {
				text = added.ReplaceAllString(text, "")
			}
			list = append(list, m.Role+" "+strings.TrimSpace(text))
		}
		for _, c := range m.Calls {
			list = append(list, "call "+c.Function.Name)
		}
	}
	return list
}

// shownTexts returns the same of the messages of a state, to which words are added.
func shownTexts(messages []map[string]any, words string) (list []string) {
	for _, m := range messages {
		for _, b := range m["content"].([]any) {
			block := b.(map[string]any)
			if text, is := block["text"].(string); is && !reminder.MatchString(text) {
				list = append(list, fmt.Sprintf("%s %s", m["role"], strings.TrimSpace(text)))
			} else if call, is := block["toolUse"].(map[string]any); is {
				list = append(list, fmt.Sprintf("call %s", call["name"]))
			} else if result, is := block["toolResult"].(map[string]any); is {
				var texts []string
				for _, part := range result["content"].([]any) {
					texts = append(texts, part.(map[string]any)["text"].(string))
				}
				list = append(list, "tool "+strings.TrimSpace(strings.Join(texts, "\n")))
			}
		}
	}
	return append(list, "user "+words)
}

// flattenTexts joins texts as Kimi Code does what a user says twice in a row. It sorts the results of one answer, which Kimi
// Code sends in the order of their calls.
func flattenTexts(list []string) string {
	for from := 0; from < len(list); from++ {
		to := from
		for to < len(list) && strings.HasPrefix(list[to], "tool ") {
			to++
		}
		slices.Sort(list[from:to])
		from = max(from, to)
	}
	for i := range list {
		list[i] = strings.TrimPrefix(list[i], "user ")
	}
	return strings.Join(list, "\n\n")
}

// From each message of the recorded session, also from what an undo left and from before a compaction, a session of
// Hindcast's own goes on, and the model is sent the messages that Hindcast shows. Of the reminders two are tried.
func TestInterop_kimiCode(t *testing.T) {
	chattest.Program(t, "kimi-code")
	home, work := t.TempDir(), t.TempDir()
	runCLI(t, home, work, "kimi -p 'to have a folder for the project'")
	storage := filepath.Join(home, ".kimi-code", "sessions")
	project, err := filepath.Glob(filepath.Join(storage, "wd_*"))
	if err != nil || len(project) != 1 {
		t.Fatal(project, err)
	}
	dir := filepath.Join(project[0], asked)
	recorded, err := filepath.Glob(filepath.Join(fixtures, "sessions", "*", asked))
	if err != nil || len(recorded) != 1 {
		t.Fatal(recorded, err)
	}
	here := strings.NewReplacer(`"/home/demo"`, `"`+work+`"`, filepath.Base(filepath.Dir(recorded[0])), filepath.Base(project[0]))
	for _, name := range []string{stateFile, filepath.Join(agentsDir, mainAgent, wireFile)} {
		text, err := os.ReadFile(filepath.Join(recorded[0], name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(here.Replace(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	s := openStore(t, storage)
	contexts := 0
	takes := func(h model.Header) bool {
		if h.EventName != "context" {
			return true
		}
		contexts++
		return contexts == 1 || strings.HasSuffix(h.ID, "~2")
	}
	forks, left := storetest.ForkEach(t, s, asked, takes, func(t *testing.T, h model.Header, plan model.Plan) { goOn(t, s, h, plan, home, work) })
	if forks != 23 || left != 2 {
		t.Errorf("%d forks, %d of them from what was left", forks, left)
	}
}

// goOn has Kimi Code go on from a fork of snapshot h.
func goOn(t *testing.T, s store.Store, h model.Header, plan model.Plan, home, work string) {
	if want := "cd " + work + " && kimi -r " + plan.NewSession; plan.Resume[0].Call != want {
		t.Errorf("it is resumed by %q, want %q", plan.Resume[0].Call, want)
	}
	got := flattenTexts(sentTexts(t, runCLI(t, home, work, plan.Resume[0].Call+" -p 'and now go on'")[0].Body))
	if want := flattenTexts(shownTexts(storetest.Messages(t, s, h.Ref()), "and now go on")); got != want {
		t.Errorf("from #%d %q the model is sent\n%s\nwant\n%s", h.Index, h.Title, got, want)
	}
	storetest.WentOn(t, s, h, plan.NewSession, "and now go on")
}

// Where a variable has Kimi Code keep its sessions, Hindcast finds them.
func TestInterop_kimiCodeElsewhere(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	env := "KIMI_CODE_HOME=" + t.TempDir()
	runCLI(t, home, work, "kimi -p 'first question'", env)
	chattest.Found(t, Kind(nil).Kind, home, env)
}
