package messages

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

// logOf returns a session whose messages are given as "role content".
func logOf(t *testing.T, messages ...string) *Store {
	t.Helper()
	files := hazards(t)["consecutive-users"]
	for name := range files {
		if strings.HasPrefix(name, "messages/") {
			delete(files, name)
		}
	}
	for i, text := range messages {
		role, content, _ := strings.Cut(text, " ")
		files[fmt.Sprintf("messages/message_%d.json", i)] = fmt.Appendf(nil,
			`{"message":{"role":%q,"content":%s},"message_id":%d,"created_at":"2026-03-01T10:00:%02d+00:00","updated_at":"2026-03-01T10:00:%02d+00:00"}`, role, content, i, i, i)
	}
	return openFiles(t, files)
}

const (
	prompted = `user [{"text":"hi"}]`
	replied  = `assistant [{"text":"done"}]`
	calling  = `assistant [{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]`
	ran      = `user [{"toolResult":{"toolUseId":"a","status":"success","content":[{"text":"1"}]}}]`
)

// What the SDK sends otherwise, and what a provider refuses by its place, is told of the message, and a plan says so.
func TestFaults_ofTheConversation(t *testing.T) {
	const blank, inOrder = `sends "[blank text]" in place of the blank one, or leaves it out beside a call`, "sends the messages in the order that they have: "
	for _, c := range []struct {
		messages []string
		// want are the faults: the message, the code, how bad it is, and the end of the verdict.
		want []string
	}{
		{[]string{prompted, calling, ran, replied, prompted}, nil},
		{[]string{prompted, `assistant [{"text":""}]`, prompted, replied}, []string{"1 empty-content mended " + blank}},
		{[]string{prompted, `assistant [{"text":" \n"},{"text":""}]`, prompted, replied}, []string{"1 empty-content mended " + blank}},
		{[]string{prompted, `assistant [{"text":""},{"text":"words"}]`}, nil},
		{[]string{prompted, `assistant [{"text":""},{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]`, ran, replied}, nil},
		{[]string{`user [{"text":" "}]`, replied}, []string{"0 empty-content loses sends the message as it is: Anthropic, Gemini and Bedrock answer 400"}},
		{[]string{prompted, prompted, replied, replied}, []string{"1 role-order note " + inOrder + "some models of Bedrock answer 400", "3 role-order note " + inOrder + "some models of Bedrock answer 400"}},
		{[]string{replied, prompted, replied}, []string{"0 model-first note " + inOrder + "Bedrock answers 400"}},
		{[]string{prompted, replied, calling, ran, replied}, []string{"2 misplaced-call note " + inOrder + "Gemini and some models of Bedrock answer 400"}},
		{[]string{prompted, calling, ran, prompted, replied}, []string{"3 user-after-result note " + inOrder + "Mistral answers 400"}},
		{[]string{prompted, calling, strings.Replace(ran, "}}]", `}},{"text":"and"}]`, 1), prompted, replied}, []string{"3 role-order note " + inOrder + "some models of Bedrock answer 400"}},
	} {
		s := logOf(t, c.messages...)
		var got []string
		for _, f := range storetest.Faults(t, s, "h") {
			name := strings.TrimSuffix(f.File[strings.LastIndexByte(f.File, '_')+1:], ".json")
			got = append(got, fmt.Sprintf("%s %s %s %s", name, f.Code, f.Severity, f.Verdict[strings.LastIndex(f.Verdict, "sends"):]))
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.messages, got, c.want)
		}
		head := storetest.Headers(t, s, "h")[len(c.messages)-1]
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: head.Ref(), As: "other"})
		if err != nil {
			t.Fatal(err)
		}
		warned := 0
		for _, text := range plan.Hazards {
			if strings.Contains(text, "sends ") {
				warned++
			}
		}
		if warned != len(c.want) {
			t.Errorf("%q: a plan says %q of %q", c.messages, plan.Hazards, c.want)
		}
	}
}

// The title of a blank answer is what the SDK sends for it.
func TestHeaders_blankText(t *testing.T) {
	s := logOf(t, prompted, `assistant [{"text":""}]`)
	if h := storetest.Headers(t, s, "h")[1]; h.Title != "[blank text]" {
		t.Errorf("the title is %q", h.Title)
	}
}
