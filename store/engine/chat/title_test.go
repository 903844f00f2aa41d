package chat

import (
	"strings"
	"testing"

	"hindcast/model/conversation"
)

// A title that an agent stored is what the person typed of it, or none.
func TestStoredTitle(t *testing.T) {
	for title, want := range map[string]string{
		"fix the build":    "fix the build",
		"fix\n the\tbuild": "fix the build",
		"<system-reminder>x</system-reminder>\nfix the build": "fix the build",
		"<system-reminder>x</system-reminder>":                "",
		"None yet":                                            "",
		"None yet of a title":                                 "None yet of a title",
		"":                                                    "",
	} {
		if got := StoredTitle(title, "None yet"); got != want {
			t.Errorf("%q is called %q, want %q", title, got, want)
		}
	}
	if n := len([]rune(StoredTitle(strings.Repeat("long ", conversation.MaxTitle)))); n > conversation.MaxTitle+1 || n < conversation.MaxTitle/2 {
		t.Errorf("a long title has %d characters", n)
	}
}
