package agentframework

import "testing"

// What is read of a history leaves its bytes as they are, white space behind its lines too.
func TestDecodeHistory_leavesTheFileAsItIs(t *testing.T) {
	const file = `{"role":"user","contents":[]}` + "\r\n" + `{"role":"assistant","contents":[]}` + " \n"
	data := []byte(file)
	if d := decodeHistory("a.jsonl", data); len(d.Items) != 2 || string(data) != file {
		t.Errorf("%d messages, and the file is %q", len(d.Items), data)
	}
}
