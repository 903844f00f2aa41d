package messages

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"hindcast/model/jsontape"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// What base64.b64decode of Python 3.11 says to each text; "" decodes.
func TestBase64_isReadAsPythonDoes(t *testing.T) {
	for text, want := range map[string][2]string{
		"":            {"", ""},
		"YWJj":        {"", "abc"},
		"YQ==":        {"", "a"},
		"YQ=":         {"Error", ""},
		"YQ":          {"Error", ""},
		"Y":           {"Error", ""},
		"abc":         {"Error", ""},
		"Y===":        {"Error", ""},
		"====":        {"", ""},
		"YW J!j":      {"", "abc"},
		"YWJj\n":      {"", "abc"},
		"YQ==garbage": {"", "a"},
		"=YWJj":       {"", "abc"},
		"YW=Jj":       {"", "abc"},
		"YWJ=j":       {"", "ab"},
		"Y=WJj":       {"", "abc"},
		"YQ=x=":       {"", "a\f"},
		"é":           {"ValueError", ""},
		"YWJjé":       {"ValueError", ""},
		"YQ==é":       {"ValueError", ""},
		"-_-_":        {"", ""},
		"YWJjY":       {"Error", ""},
		"QR==":        {"", "A"},
	} {
		value := tape(t, jsontape.AppendQuoted(nil, text))
		data, exception := pythonBytes(value, 0)
		if class, _, _ := strings.Cut(exception, ":"); class != want[0] || string(data) != want[1] {
			t.Errorf("%q: %q, %q, want %q", text, data, exception, want)
		}
	}
}

// What is too large for the archive of hazards, or not text; the verdicts were
// seen by starting the SDK on such files.
func TestFaults_ofFilesThatAreNoText(t *testing.T) {
	skip.Sequential(t)
	wide := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(wholeMessage)) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	for name, c := range map[string]struct{ text, verdict string }{
		"UTF-16":          {string(wide), "refuses to start: UnicodeDecodeError"},
		"11,000 brackets": {`{"message":{"role":"assistant","content":[],"x":` + strings.Repeat("[", 11_000) + strings.Repeat("]", 11_000) + `},"message_id":3}`, "refuses to start: RecursionError"},
		"zeros":           {strings.Repeat("\x00", 4096), "refuses to start: SessionException: Invalid JSON"},
	} {
		s := openFiles(t, hazards(t)["healthy"].with(map[string]string{"messages/message_3.json": c.text}))
		found := storetest.Faults(t, s, "h")
		if len(found) != 1 || found[0].Code != FaultMessageFile || found[0].Verdict != c.verdict || !strings.HasPrefix(found[0].Path, "byte ") {
			t.Errorf("%s: %s", name, pictureFaults(found))
		}
		if list := storetest.Headers(t, s, "h"); len(list) != 6 {
			t.Errorf("%s: %d messages are left", name, len(list))
		}
	}
}

// SDKs that write the count are newer than those that were asked.
func TestFaults_ofAPinnedHead(t *testing.T) {
	skip.Sequential(t)
	agent := strings.Replace(string(hazards(t)["healthy"]["agent.json"]), `"removed_message_count":0`, `"removed_message_count":1,"pinned_head_count":2`, 1)
	found := storetest.Faults(t, openFiles(t, hazards(t)["healthy"].with(map[string]string{"agent.json": agent})), "h")
	got := pictureFaults(found)
	want := "! pinned-head  " + filepath.Join("session_h", "agents", "agent_default", "agent.json") + " /conversation_manager_state/pinned_head_count\n" +
		"    2 messages at the head stay in the context\n" +
		"    loads; SDKs that do not know the count (1.62 and before) leave out 1 message at the head instead\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
}

// A checkpoint of the other SDK is named as such.
func TestFaults_ofACheckpointOfTheOtherSDK(t *testing.T) {
	skip.Sequential(t)
	agent := strings.Replace(string(hazards(t)["healthy"]["agent.json"]), `{"n":1}`, `{"c":{"position":"afterTools","cycleIndex":1,"schemaVersion":"1.0"}}`, 1)
	found := storetest.Faults(t, openFiles(t, hazards(t)["healthy"].with(map[string]string{"agent.json": agent})), "h")
	if len(found) != 1 || found[0].Code != FaultCheckpoint || found[0].Path != "/state/c" {
		t.Errorf("%s", pictureFaults(found))
	}
}
