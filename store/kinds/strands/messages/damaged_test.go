package messages

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sdk"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// damages are what is put in the place of a content, of a role and of a message, by name.
var damages = []struct{ name, member, value string }{
	{"content-text", "content", `"words"`},
	{"content-no-text", "content", `""`},
	{"content-call-text", "content", `"a toolUse or a toolResult"`},
	{"content-empty", "content", `[]`},
	{"content-object", "content", `{"text":"words"}`},
	{"content-call-object", "content", `{"toolUse":{"toolUseId":"x1","name":"alpha","input":{}}}`},
	{"content-empty-object", "content", `{}`},
	{"content-null", "content", `null`},
	{"content-number", "content", `7`},
	{"content-missing", "content", ``},
	{"role-missing", "role", ``},
	{"role-null", "role", `null`},
	{"role-other", "role", `"system"`},
	{"block-text", "content", `["words"]`},
	{"block-call-text", "content", `["toolUse"]`},
	{"block-result-text", "content", `["toolResult"]`},
	{"block-list", "content", `[["toolUse"]]`},
	{"block-number", "content", `[7]`},
	{"block-null", "content", `[null]`},
	{"block-empty", "content", `[{}]`},
	{"call-idless", "content", `[{"toolUse":{"name":"alpha","input":{}}}]`},
	{"call-null", "content", `[{"toolUse":null}]`},
	{"call-number-id", "content", `[{"toolUse":{"toolUseId":7,"name":"alpha","input":{}}}]`},
	{"call-list-id", "content", `[{"toolUse":{"toolUseId":[],"name":"alpha","input":{}}}]`},
	{"result-idless", "content", `[{"toolResult":{"status":"success","content":[]}}]`},
	{"result-null", "content", `[{"toolResult":null}]`},
	{"result-list-id", "content", `[{"toolResult":{"toolUseId":{},"status":"success","content":[]}}]`},
	{"result-other", "content", `[{"toolResult":{"toolUseId":"z9","status":"success","content":[]}}]`},
	{"result-and-text", "content", `[{"toolResult":{"toolUseId":"z9","status":"success","content":[]}},{"text":"and"}]`},
	{"call", "content", `[{"toolUse":{"toolUseId":"z8","name":"alpha","input":{}}}]`},
	{"call-and-result", "content", `[{"toolUse":{"toolUseId":"z8","name":"alpha","input":{}}},{"toolResult":{"toolUseId":"z8","status":"success","content":[]}}]`},
	{"bytes-line-break", "content", encoded("QUJD\\nREVG")},
	{"bytes-blanks", "content", encoded("QUJD REVG")},
	{"bytes-url-alphabet", "content", encoded("QUJD-_REVG")},
	{"bytes-after-padding", "content", encoded("QQ==REVG")},
	{"bytes-padding-amid", "content", encoded("QU=JD")},
	{"bytes-padding-first", "content", encoded("=QUJD")},
	{"bytes-more-padding", "content", encoded("QUJD====")},
	{"bytes-no-padding", "content", encoded("QUI")},
	{"bytes-one-letter", "content", encoded("QUJDR")},
	{"bytes-other-bits", "content", encoded("QR==")},
	{"bytes-and-more", "content", `[{"image":{"format":"png","source":{"bytes":{"__bytes_encoded__":true,"data":"QUJD","more":1}}}}]`},
	{"bytes-number", "content", `[{"image":{"format":"png","source":{"bytes":{"__bytes_encoded__":true,"data":7}}}}]`},
	{"bytes-no-base64", "content", encoded("é")},
	{"bytes-empty", "content", encoded("")},
	{"bytes-all-odd", "content", encoded("!!!")},
	{"message-null", "message", `null`},
	{"message-list", "message", `[]`},
	{"message-text", "message", `"words"`},
}

func encoded(data string) string {
	return `[{"image":{"format":"png","source":{"bytes":{"__bytes_encoded__":true,"data":"` + data + `"}}}}]`
}

// damagedLogs are the hazards, and a healthy log with each damage in each of its messages.
func damagedLogs(t *testing.T) map[string]written {
	all := hazards(t)
	base := all["healthy"]
	for i := range 6 {
		name := fmt.Sprintf("messages/message_%d.json", i)
		for _, d := range damages {
			var wrapper struct {
				Message json.RawMessage `json:"message"`
				ID      int             `json:"message_id"`
				Created string          `json:"created_at"`
				Updated string          `json:"updated_at"`
			}
			if err := json.Unmarshal(base[name], &wrapper); err != nil {
				t.Fatal(err)
			}
			if d.member == "message" {
				wrapper.Message = json.RawMessage(d.value)
			} else {
				message := map[string]json.RawMessage{}
				if err := json.Unmarshal(wrapper.Message, &message); err != nil {
					t.Fatal(err)
				}
				if message[d.member] = json.RawMessage(d.value); d.value == "" {
					delete(message, d.member)
				}
				data, err := json.Marshal(message)
				if err != nil {
					t.Fatal(err)
				}
				wrapper.Message = data
			}
			data, err := json.Marshal(wrapper)
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprintf("%s-%d", d.name, i)] = base.with(map[string]string{name: string(data)})
		}
	}
	return all
}

// startedBy returns what a version of the real SDK does with each store of a folder.
func startedBy(t *testing.T, sdks, version, stores string) answers {
	t.Helper()
	python := exec.CommandContext(t.Context(), filepath.Join(sdks, "python", "venv", "bin", "python"), filepath.Join("..", "..", "..", "..", "testdata", "interop", "strands_starts.py"), stores)
	if older := filepath.Join(sdks, "python-older", version); version != newestSDK {
		python.Env = append(os.Environ(), "PYTHONPATH="+older)
	}
	python.Stderr = os.Stderr
	out, err := python.Output()
	if err != nil {
		t.Fatalf("%s: %v", version, err)
	}
	var a answers
	if err := json.Unmarshal(out, &a); err != nil || a.SDK != version {
		t.Fatalf("SDK %s was asked, and %s answers: %v", version, a.SDK, err)
	}
	return a
}

// What doctor says of a damaged log is what an agent of each version does when it
// starts on it: it refuses, with the exception of the verdict, or it loads the messages
// of the state.
func TestFaults_agreeWithSDKsThatStart(t *testing.T) {
	skip.Sequential(t)
	if testing.Short() {
		t.Skip("it starts two SDKs on 406 logs")
	}
	sdks := os.Getenv("HINDCAST_SDKS")
	if sdks == "" {
		skip.Missing(t, "HINDCAST_SDKS names no folder with the real SDKs: testdata/interop/install makes one")
	}
	all, stores := damagedLogs(t), t.TempDir()
	for name, files := range all {
		files.write(t, filepath.Join(stores, name, "session_h"))
	}
	for _, version := range []string{"1.54.0", newestSDK} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			refused, loaded, disagreed := 0, 0, 0
			for name, want := range startedBy(t, sdks, version, stores).Hazards {
				got := opened(t, filepath.Join(stores, name), version)
				switch {
				case name == "manager-empty" && strings.Contains(got.verdicts, "an Agent refuses to start: ValueError"):
					got.refuses = "ValueError" // a BidiAgent wrote it, and loads it
				case name == "missing-agent":
					got.messages = nil // the SDK starts anew
				}
				class, _, _ := strings.Cut(want.Refuses, ":")
				switch held := plainMessages(t, want.Messages); {
				case name == "symlink-agent" && strings.Contains(got.verdicts, "it is followed"):
					refused++ // Hindcast follows no link, and says so
				case (want.Refuses != "") != (got.refuses != "") || want.Refuses != "" && !strings.HasPrefix(got.refuses, class):
					disagreed++
					t.Errorf("%s: the SDK refuses with %q, and doctor says %q:\n%s", name, want.Refuses, got.refuses, got.verdicts)
				case want.Refuses != "":
					refused++
				case strings.HasPrefix(name, "symlink") && strings.Contains(got.verdicts, "it is followed"):
					loaded++ // Hindcast follows no link, and says so
				case !slices.Equal(takenBytes(got.messages, got.verdicts), takenBytes(held, got.verdicts)):
					disagreed++
					t.Errorf("%s: the state has\n %s\nthe SDK loads\n %s\ndoctor says\n%s", name, strings.Join(got.messages, "\n "), strings.Join(held, "\n "), got.verdicts)
				default:
					loaded++
				}
			}
			t.Logf("%d damaged logs: refused %d, loaded %d, disagreed %d", len(all), refused, loaded, disagreed)
		})
	}
}

var bytesText = regexp.MustCompile(`"__bytes_encoded__":true,"data":("[^"]*"),("more":1,)?`)

// takenBytes returns messages with the bytes that the SDK takes in place of their
// texts: those that the verdicts tell of, or else what the text is base64 of.
func takenBytes(messages []string, verdicts string) (list []string) {
	for _, m := range messages {
		list = append(list, bytesText.ReplaceAllStringFunc(m, func(text string) string {
			of := bytesText.FindStringSubmatch(text)
			if data, err := strconv.Unquote(of[1]); err == nil {
				if raw, err := base64.StdEncoding.DecodeString(data); err == nil && (of[2] == "" || strings.Contains(verdicts, "the other members are gone")) {
					return fmt.Sprintf("%q", raw)
				}
			}
			if told := toldBytes.FindStringSubmatch(verdicts); told != nil {
				raw, err := base64.StdEncoding.DecodeString(told[1])
				if err == nil {
					return fmt.Sprintf("%q", raw)
				}
			}
			return text
		}))
	}
	return list
}

var toldBytes = regexp.MustCompile(`takes the \d+ bytes? of "([^"]*)"`)

// judgement is what Hindcast says of a log where a version is said to run.
type judgement struct {
	refuses, verdicts string
	messages          []string
}

func opened(t *testing.T, dir, version string) (it judgement) {
	t.Helper()
	s := open(t, dir)
	if err := s.Assume(store.Release{SDK: sdk.StrandsPython, Version: version}); err != nil {
		t.Fatal(err)
	}
	for _, f := range storetest.Faults(t, s, "h") {
		it.verdicts += fmt.Sprintf("%s %s: %s: %s\n", f.Severity, f.Code, f.Meaning, f.Verdict)
		if f.Severity == model.Stops && it.refuses == "" {
			it.refuses = strings.TrimPrefix(f.Verdict, "refuses to start: ")
		}
	}
	list := storetest.Headers(t, s, "h")
	if len(list) > 0 && it.refuses == "" {
		it.messages = canonicalMessages(t, state(t, s, list[len(list)-1]))
	}
	return it
}

// What a repair makes is no fault: of each code, a damaged log has not more faults after
// it than before, nor worse ones.
func TestRepair_makesNoFault(t *testing.T) {
	skip.Sequential(t)
	type count map[string]int
	counted := func(faults []model.Fault) (of, worst count) {
		of, worst = count{}, count{}
		for _, f := range faults {
			if f.Severity > model.Note {
				of[f.Code]++
				worst[f.Code] = max(worst[f.Code], int(f.Severity))
			}
		}
		return of, worst
	}
	repaired := 0
	for name, files := range damagedLogs(t) {
		s, _ := files.store(t)
		before, worstBefore := counted(storetest.Faults(t, s, "h"))
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "h"}})
		if err != nil {
			continue // TestRepair_ofEveryHazard has the reasons
		}
		applied(t, s, plan)
		repaired++
		after, worst := counted(storetest.Faults(t, s, "h"))
		for code, n := range after {
			if n > before[code] || worst[code] > worstBefore[code] {
				t.Errorf("%s: %d of %s after the repair (%v), and %d before\n%q", name, n, code, model.Severity(worst[code]), before[code], plan.Writes)
			}
		}
	}
	if repaired < 80 {
		t.Errorf("%d logs were repaired", repaired)
	}
}
