package sqlite_test

import (
	"slices"
	"strings"
	"testing"

	"hindcast/model"
)

// Doctor and the plans of a restore and of a fork say that the messages will be refused; those of a state in
// which nothing is wrong do not.
func TestPlan_unansweredCall(t *testing.T) {
	const (
		whole   = `{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a"}]}`
		wrong   = `{"messages":[{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"v"}]}`
		refused = "the call of f (c) has no result, and the conversation went on; a program that goes on from it sends the call without its result: OpenAI Chat, OpenAI Responses, Anthropic, Gemini and Bedrock answer 400"
	)
	s, _ := newStore(t)
	refs := keep(t, s, "s", []byte(whole), []byte(wrong))
	for i, ref := range refs {
		for _, c := range []model.Change{{Op: model.OpRestore, Ref: ref}, {Op: model.OpFork, Ref: ref, As: "other"}, {Op: model.OpEdit, Ref: ref, As: "other", State: []byte(strings.Replace(wrong, `"v"`, `"w"`, 1))}} {
			plan, err := s.Plan(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if said := slices.Contains(plan.Hazards, refused); said != (i == 1 || c.Op == model.OpEdit) {
				t.Errorf("%s of #%d says %q", c.Op, i, plan.Hazards)
			}
		}
	}
	faults, err := s.Faults(t.Context(), "s")
	if err != nil || len(faults) != 1 || faults[0].Code != "unanswered-call" || faults[0].Severity != model.Loses || faults[0].File != refs[1].ID {
		t.Errorf("%+v, %v", faults, err)
	}
}
