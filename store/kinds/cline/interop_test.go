package cline

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// wrapper matches what Cline writes around the words of a prompt and does not send.
var wrapper = regexp.MustCompile(`</?user_input[^>]*>`)

// The command of Cline resumes a session of Hindcast's own from each message where no call waits, and the model is sent
// the messages that Hindcast shows, then the prompt: results as the JSON that their texts stand in.
func TestInterop_cline(t *testing.T) {
	program := chattest.Program(t, "cline", "node_modules", ".bin", "cline")
	home, work, llm := t.TempDir(), t.TempDir(), chattest.Start(t)
	script, err := filepath.Abs("../../../testdata/interop/cline/resume.py")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	run := func(call string) { chattest.Run(t, work, home, call, "CLINE_NO_AUTO_UPDATE=1") }
	t.Cleanup(func() { // Cline leaves its hub running
		data, err := os.ReadFile(filepath.Join(home, ".cline/data/locks/hub/production.json.lock/owner.json"))
		var owner struct{ PID int }
		if err == nil && json.Unmarshal(data, &owner) == nil && owner.PID > 0 {
			if p, err := os.FindProcess(owner.PID); err == nil {
				_ = p.Kill()
			}
		}
	})
	run("'" + program + "' auth --provider openai --apikey scripted --modelid scripted --baseurl " + llm.URL + "/v1 </dev/null")
	run("'" + program + `' --json 'go
call: run_commands {"commands":["echo one"]}
' </dev/null`)
	sessions := filepath.Join(home, ".cline", "data", "sessions")
	s := storetest.AsWriter(storetest.OpenStore(t, Kind(nil).Kind, sessions))
	session := storetest.Sessions(t, s)[0].ID
	chattest.Found(t, Kind(nil).Kind, home)
	answered := func(h model.Header) bool { return h.Index > 1 }
	forks, _ := storetest.ForkEach(t, s, session, answered, func(t *testing.T, h model.Header, plan model.Plan) {
		if want := "cd " + work + " && cline --id " + plan.NewSession; plan.Resume[0].Call != want {
			t.Errorf("it is resumed by %q, want %q", plan.Resume[0].Call, want)
		}
		words := "what follows " + h.ID
		run("python3 '" + script + "' '" + program + "' '" + sessions + "' " + plan.NewSession + " '" + words + "'")
		var got []string
		for _, r := range llm.Requests(t) {
			if list := chattest.SentParts(t, r.Body, nil); strings.Contains(strings.Join(list, "\n"), words) {
				got = list
				break
			}
		}
		for i, line := range got {
			if result, is := strings.CutPrefix(line, "tool "); is {
				v, err := chat.Parse([]byte(result))
				var failed bool
				text := chat.Words(resultOf(v, &failed), len(result))
				if got[i] = "tool " + text; err != nil || failed {
					t.Errorf("%s: %v", result, err)
				}
			}
		}
		want := append(chattest.ShownParts(storetest.Messages(t, s, h.Ref())), "user "+words)
		for i := range want {
			want[i] = wrapper.ReplaceAllString(want[i], "")
		}
		if !slices.Equal(got, want) {
			t.Errorf("from #%d %q the model is sent\n%s\nwant\n%s", h.Index, h.Title, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
	if forks != 2 {
		t.Errorf("%d forks", forks)
	}
}
