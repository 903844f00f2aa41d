package snapshots

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

// What an SDK sends otherwise, and what a provider refuses by its place, is told of the snapshot that
// is loaded, in the words of the SDK that wrote it; a plan of a fork says what is refused.
func TestFaults_ofTheConversation(t *testing.T) {
	const (
		asked    = `{"role":"user","content":[{"text":"q"}]}`
		answered = `{"role":"assistant","content":[{"text":"a"}]}`
		blank    = `{"role":"assistant","content":[{"text":" "}]}`
		called   = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}`
		ran      = `{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"success","content":[{"text":"1"}]}}]}`
		some     = "some models of Bedrock answer 400"
	)
	list := regexp.MustCompile(`"messages": ?\[.*?\], ?"state"`)
	for _, c := range []struct {
		name     string
		messages []string
		want     []string
		// plan is a part of a hazard of a fork, "" for none about the messages.
		plan string
	}{
		{"py-healthy", []string{asked, called, ran, answered, asked}, nil, ""},
		{"py-healthy", []string{asked, blank, asked}, []string{`empty-content mended "[blank text]"`}, `sends "[blank text]"`},
		{"ts-healthy", []string{asked, blank, asked}, []string{"empty-content loses Anthropic, Gemini and Bedrock"}, "Anthropic, Gemini and Bedrock answer 400"},
		{"py-healthy", []string{asked, asked, answered}, []string{"role-order note " + some}, some},
		{"ts-healthy", []string{asked, answered, answered}, []string{"role-order note " + some}, some},
		{"py-healthy", []string{answered, asked}, []string{"model-first note Bedrock answers 400"}, "Bedrock answers 400"},
		{"py-healthy", []string{asked, called, ran, asked}, []string{"user-after-result note Mistral answers 400"}, "Mistral answers 400"},
		{"ts-healthy", []string{asked, called, asked}, []string{"unanswered-call loses sends the call without its result: OpenAI Chat"}, "the call of f (a) has no result"},
		{"py-healthy", []string{asked, called, asked}, []string{"unanswered-call loses sends the call without its result: OpenAI Chat"}, "the call of f (a) has no result"},
	} {
		files := hazards(t)[c.name]
		made := list.ReplaceAllLiteral(files["latest"], []byte(`"messages":[`+strings.Join(c.messages, ",")+`],"state"`))
		if bytes.Equal(made, files["latest"]) {
			t.Fatalf("%s has no messages", c.name)
		}
		files["latest"] = made
		dir := t.TempDir()
		files.write(t, snapshotsOf(dir, "s"))
		s := open(t, dir)
		var got []string
		for _, f := range storetest.Faults(t, s, "s") {
			got = append(got, fmt.Sprintf("%s %s %s", f.Code, f.Severity, f.Verdict))
		}
		if len(got) != len(c.want) || slices.ContainsFunc(c.want, func(want string) bool {
			code, verdict, _ := strings.Cut(want, " ")
			severity, verdict, _ := strings.Cut(verdict, " ")
			return !strings.HasPrefix(got[0], code+" "+severity) || !strings.Contains(got[0], verdict)
		}) {
			t.Errorf("%s %q: %q, want %q", c.name, c.messages, got, c.want)
		}
		head := storetest.Headers(t, s, "s")[0]
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: head.Ref(), As: "other"})
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(plan.Hazards, "\n"); !strings.Contains(said, c.plan) || c.plan == "" && strings.Contains(said, "answer") {
			t.Errorf("%s %q: the plan says %q", c.name, c.messages, plan.Hazards)
		}
	}
}
