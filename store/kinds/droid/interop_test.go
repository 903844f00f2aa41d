package droid

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// reminder matches what Droid writes around what it adds to the words of a person.
var reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`)

// From the last messages of a session that Droid has just written it goes on in forks of Hindcast's own, and the model is
// sent the messages that Hindcast shows, then the prompt.
func TestInterop_droid(t *testing.T) {
	program := chattest.Program(t, "droid", "node_modules", "@factory", "cli-linux-x64", "bin", "droid")
	home, work, llm := t.TempDir(), t.TempDir(), chattest.Start(t)
	t.Setenv("HOME", home)
	settings := `{"cloudSessionSync":false,"customModels":[{"model":"scripted","displayName":"scripted","baseUrl":"` + llm.URL +
		`/v1","apiKey":"scripted","provider":"generic-chat-completion-api","maxOutputTokens":4096}]}`
	err := os.Mkdir(filepath.Join(home, ".factory"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".factory", "settings.json"), []byte(settings), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(words string) {
		chattest.Run(t, work, home, "'"+program+"' exec -m custom:scripted "+words+" </dev/null")
	}
	run(`'go
call: Execute {"command":"echo one","riskLevel":{"value":"low","reason":"it looks"}}
'`)
	chattest.Found(t, Kind(nil).Kind, home)
	s := storetest.AsWriter(storetest.OpenStore(t, Kind(nil).Kind, filepath.Join(home, ".factory", "sessions")))
	session := storetest.Sessions(t, s)[0].ID
	answered := func(h model.Header) bool { return h.Index > 2 }
	forks, _ := storetest.ForkEach(t, s, session, answered, func(t *testing.T, h model.Header, plan model.Plan) {
		if want := "cd " + work + " && droid --fork " + plan.NewSession; plan.Resume[0].Call != want {
			t.Errorf("it goes on by %q, want %q", plan.Resume[0].Call, want)
		}
		words := fmt.Sprintf("what follows %d", h.Index)
		run("--fork " + plan.NewSession + " '" + words + "'")
		var got []string
		for _, r := range llm.Requests(t) {
			if list := chattest.SentParts(t, r.Body, reminder); slices.Contains(list, "user "+words) {
				got = list
			}
		}
		var want []string
		for _, line := range append(chattest.ShownParts(storetest.Messages(t, s, h.Ref())), "user "+words) {
			if line = strings.TrimSpace(reminder.ReplaceAllString(line, "")); line != "user" {
				want = append(want, line)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("from #%d %q the model is sent\n%s\nwant\n%s", h.Index, h.Title, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
	if forks != 2 {
		t.Errorf("%d forks", forks)
	}
}
