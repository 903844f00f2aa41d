package qwen

import (
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

// newHome lays out a home whose settings have Qwen Code ask an API of OpenAI's kind, and no network.
func newHome(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	settings := `{"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"disableAutoUpdate":true},"security":{"auth":{"selectedType":"openai"}}}`
	err := os.MkdirAll(filepath.Join(home, ".qwen"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".qwen", "settings.json"), []byte(settings), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// runCLI runs a call of Qwen Code in a project, and returns the requests that it sends to a model of its own.
func runCLI(t *testing.T, home, work, call string, env ...string) []chattest.Request {
	t.Helper()
	bin := filepath.Dir(chattest.Program(t, "qwen-code", "node_modules", ".bin", "qwen"))
	llm := chattest.Start(t)
	env = append(env, "OPENAI_API_KEY=scripted", "OPENAI_BASE_URL="+llm.URL+"/v1", "OPENAI_MODEL=scripted", "QWEN_CODE_SUPPRESS_YOLO_WARNING=1")
	chattest.Run(t, work, home, "export PATH="+bin+":$PATH; "+call+" </dev/null", env...)
	return llm.Requests(t)
}

// reminder matches the text that Qwen Code adds to the words of the user at each start.
var reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`)

// From each snapshot of the recorded session, also from what a rewind left and from before a compression, a
// session of Hindcast's own goes on, and the model is sent the messages that Hindcast shows.
func TestInterop_qwenCode(t *testing.T) {
	chattest.Program(t, "qwen-code")
	home, work := newHome(t), t.TempDir()
	text, err := os.ReadFile(filepath.Join(fixtures, projects, "-home-demo", chats, asked+suffix))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, ".qwen", projects, regexp.MustCompile(`[^0-9A-Za-z]`).ReplaceAllString(work, "-"), chats)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, asked+suffix), []byte(strings.ReplaceAll(string(text), `"cwd":"/home/demo"`, `"cwd":"`+work+`"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	s := openStore(t, filepath.Join(home, ".qwen"))
	forks, left := storetest.ForkEach(t, s, asked, nil, func(t *testing.T, h model.Header, plan model.Plan) { goOn(t, s, h, plan, home, work) })
	if forks != 22 || left != 2 {
		t.Errorf("%d forks, %d of them from what was left", forks, left)
	}
}

// goOn has Qwen Code go on from a fork of snapshot h, with a model of its own.
func goOn(t *testing.T, s store.Store, h model.Header, plan model.Plan, home, work string) {
	if want := "cd " + work + " && qwen -r " + plan.NewSession; plan.Resume[0].Call != want {
		t.Errorf("it is resumed by %q, want %q", plan.Resume[0].Call, want)
	}
	got := chattest.SentParts(t, runCLI(t, home, work, plan.Resume[0].Call+" -y -p 'and now go on'")[0].Body, reminder)
	if h.EventName == "command" { // it is in no later state
		h.ID = h.ParentID
	}
	if want := append(chattest.ShownParts(storetest.Messages(t, s, h.Ref())), "user and now go on"); !slices.Equal(got, want) {
		t.Errorf("from #%d %q the model is sent\n%s\nwant\n%s", h.Index, h.Title, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	storetest.WentOn(t, s, h, plan.NewSession, "and now go on")
}

// Where a variable has Qwen Code keep its sessions, Hindcast finds them.
func TestInterop_qwenCodeElsewhere(t *testing.T) {
	home, work := newHome(t), t.TempDir()
	for _, env := range []string{runtimeDir + "=" + t.TempDir(), "QWEN_HOME=" + t.TempDir()} {
		if err := os.WriteFile(filepath.Join(strings.SplitN(env, "=", 2)[1], "settings.json"), []byte(`{"security":{"auth":{"selectedType":"openai"}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		runCLI(t, home, work, "qwen -y -p 'first question'", env)
		chattest.Found(t, Kind(nil).Kind, home, env)
	}
}
