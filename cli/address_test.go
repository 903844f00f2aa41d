package cli_test

import (
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
)

// No command tells the credentials of an address, whatever it is refused for.
func TestErrors_hideCredentials(t *testing.T) {
	row := store.Row{Header: model.Header{ID: "a", SessionID: "s", Visit: 1}, State: []byte("{}")}
	for _, address := range []string{
		"s3://AKIA:HuNtEr7@bucket/x", "s3://AKIA:SEC/HuNtEr7@bucket/x", "http://user:HuNtEr7@host/x", "https://HuNtEr7@host",
		"https://host/x?token=HuNtEr7", "mysql://u:HuNtEr7@h/d", "strands:s3://AKIA:HuNtEr7@bucket/x", "nokind:http://u:HuNtEr7@h",
	} {
		for _, command := range []string{
			"sessions %", "sessions % --json", "log %", "doctor %", "doctor % --json", "messages % s", "export %", "restore % s 1 --yes",
			"undo %", "journal %", "find % .x", "stats %", "convert % s --to sqlite:x.db", "sessions a b % c d", "%", "diverge % % % %",
		} {
			words := strings.Fields(strings.ReplaceAll(command, "%", address))
			_, out, err := start(t, sequenceOf([]store.Row{row})).run(t, words...)
			if all := out + err; strings.Contains(all, "HuNtEr7") {
				t.Errorf("hindcast %s tells it: %s", command, all)
			}
		}
	}
}
