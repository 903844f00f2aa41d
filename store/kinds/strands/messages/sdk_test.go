package messages

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sdk"
	"hindcast/store/storetest"
)

// The SDKs that were asked. What the newest loads is what the states say; where another
// that may have written agent.json does otherwise, a fault has to say so.
var askedSDKs = []string{"1.40.0", "1.54.0", newestSDK}

const (
	newestSDK = "1.62.0"
	oldestSDK = "1.40.0" // the one before of which repairs were asked
)

// effective returns the message of a file in the plainest way.
func effective(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var wrapper struct {
		Message json.RawMessage `json:"message"`
		Redact  json.RawMessage `json:"redact_message"`
	}
	if err := json.Unmarshal(data, &wrapper); err != nil {
		t.Fatal(err)
	}
	if len(wrapper.Redact) > 0 && string(wrapper.Redact) != "null" {
		wrapper.Message = wrapper.Redact
	}
	return canonical(tape(t, wrapper.Message), 0)
}

// storedMessages returns the effective messages of an agent in order.
func storedMessages(t *testing.T, dir string) []string {
	t.Helper()
	var messages []string
	for n := 0; len(messages) < len(mustGlob(t, filepath.Join(dir, "message_*.json"))); n++ {
		file := filepath.Join(dir, "message_"+strconv.Itoa(n)+".json")
		if _, err := os.Stat(file); err == nil {
			messages = append(messages, effective(t, file))
		}
	}
	return messages
}

func mustGlob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestState_holdsWhatTheSDKLoadsAtEveryMessage(t *testing.T) {
	for _, version := range askedSDKs {
		s := open(t, fixtures)
		if err := s.Assume(store.Release{SDK: "strands-python", Version: version}); err != nil {
			t.Fatal(err)
		}
		for place, positions := range answersOf(t, version).Positions {
			t.Run(version+"/"+place, func(t *testing.T) {
				session, agent, _ := strings.Cut(place, "/")
				id := session
				if session == "twoagents" {
					id = place
				}
				stored := storedMessages(t, filepath.Join(fixtures, "session_"+session, "agents", "agent_"+agent, "messages"))
				list := storetest.Headers(t, s, id)
				if len(list) != len(positions) {
					t.Fatalf("%d snapshots, the SDK has %d messages", len(list), len(positions))
				}
				for i, h := range list {
					want := []string{}
					for _, message := range positions[i] {
						if n, err := strconv.Atoi(string(message)); err == nil {
							want = append(want, stored[n])
						} else {
							want = append(want, canonical(tape(t, message), 0))
						}
					}
					if got := canonicalMessages(t, state(t, s, h)); !slices.Equal(got, want) {
						t.Errorf("message %d: the state has\n %s\nthe SDK loads\n %s", i, strings.Join(got, "\n "), strings.Join(want, "\n "))
					}
				}
			})
		}
	}
}

func TestStore_agreesWithTheSDKOnWhatIsWrong(t *testing.T) {
	newest := answersOf(t, newestSDK)
	all := hazards(t)
	for _, version := range askedSDKs {
		if asked := answersOf(t, version); len(all) != len(asked.Hazards) {
			t.Fatalf("%d hazards, and SDK %s was asked about %d", len(all), version, len(asked.Hazards))
		}
	}
	for name, files := range all {
		t.Run(name, func(t *testing.T) {
			s, want := openFiles(t, files), newest.Hazards[name]
			found := storetest.Faults(t, s, "h")
			refused := ""
			verdicts := ""
			for _, f := range found {
				verdicts += f.Code + ": " + f.Verdict + "\n"
				if f.Severity == model.Stops {
					refused = strings.TrimPrefix(f.Verdict, "refuses to start: ")
				}
			}
			if name == "manager-empty" {
				// It is right for a BidiAgent, which the SDK was not asked about.
				if !strings.Contains(verdicts, "an Agent refuses to start: "+strings.TrimSuffix(want.Refuses, ".")) {
					t.Errorf("the SDK: %q, the faults: %q", want.Refuses, verdicts)
				}
				want = newest.Hazards["healthy"]
				want.State = json.RawMessage("{}")
			}
			if (want.Refuses != "") != (refused != "") {
				t.Fatalf("the SDK: %q, the faults: %q", want.Refuses, verdicts)
			}
			if exception, _, _ := strings.Cut(want.Refuses, ":"); !strings.HasPrefix(refused, exception) {
				t.Errorf("the SDK refuses with %q, the fault says %q", want.Refuses, refused)
			}
			if want.Refuses != "" {
				return
			}
			checkNext(t, want, verdicts)
			list := storetest.Headers(t, s, "h")
			last := state(t, s, list[len(list)-1])
			if name == "missing-agent" {
				return // the SDK starts anew and holds nothing of what is shown
			}
			if got, loaded := canonicalMessages(t, last), plainMessages(t, want.Messages); !slices.Equal(got, loaded) {
				t.Errorf("the state has\n %s\nthe SDK loads\n %s", strings.Join(got, "\n "), strings.Join(loaded, "\n "))
			}
			tape, wantTape := tape(t, last), tape(t, want.State)
			if got, loaded := canonical(tape, tape.Find(0, "state")), canonical(wantTape, 0); got != loaded {
				t.Errorf("the agent's state is %s, the SDK loads %s", got, loaded)
			}
		})
	}
}

// What an older SDK does with what is wrong is what is shown when it is said to run,
// and told of otherwise.
func TestStore_agreesWithOlderSDKsOnWhatIsWrong(t *testing.T) {
	newest := answersOf(t, newestSDK)
	for _, version := range askedSDKs {
		asked := answersOf(t, version)
		if version == newestSDK {
			continue
		}
		for name, files := range hazards(t) {
			t.Run(version+"/"+name, func(t *testing.T) {
				s, want := openFiles(t, files), asked.Hazards[name]
				if name == "manager-empty" || name == "missing-agent" || want.Refuses != "" && newest.Hazards[name].Refuses != "" {
					return // as in the newest
				}
				verdicts, refused := "", false
				for _, f := range storetest.Faults(t, s, "h") {
					verdicts += f.Code + ": " + f.Verdict + "\n"
					refused = refused || f.Severity == model.Stops
				}
				if same := want.Refuses == newest.Hazards[name].Refuses && equalMessages(t, want, newest.Hazards[name]); !same && mayHaveWritten(t, s, version) && !tells(verdicts, version) {
					t.Errorf("it does otherwise (%s%s), and no verdict says so:\n%s", want.Refuses, bytes.Join(rawMessages(want), []byte("\n")), verdicts)
				}
				if want.Refuses != "" || refused {
					return
				}
				if err := s.Assume(store.Release{SDK: "strands-python", Version: version}); err != nil {
					t.Fatal(err)
				}
				list := storetest.Headers(t, s, "h")
				if got, loaded := canonicalMessages(t, state(t, s, list[len(list)-1])), plainMessages(t, want.Messages); !slices.Equal(got, loaded) {
					t.Errorf("the state has\n %s\nthe SDK loads\n %s", strings.Join(got, "\n "), strings.Join(loaded, "\n "))
				}
				for _, f := range storetest.Faults(t, s, "h") {
					pairing := slices.Contains([]string{FaultOrphanResult, FaultLeadingResult, FaultMissingResult, FaultPartialResult, FaultStaleResult}, f.Code)
					if _, _, both := strings.Cut(f.Verdict, "(before "); both && pairing {
						t.Errorf("the version is known, and the verdict says %q", f.Verdict)
					}
				}
			})
		}
	}
}

// mayHaveWritten reports whether a version of the SDK may have written agent.json.
func mayHaveWritten(t *testing.T, s *Store, text string) bool {
	t.Helper()
	p, err := s.locate(s.storage.In(), "h")
	if err != nil {
		t.Fatal(err)
	}
	l := openLog(p, s.storage.In())
	defer l.close()
	v, ok := sdk.Parse(text)
	return ok && l.sdk().Has(v)
}

// tells reports whether verdicts tell of what was before a version that is later.
func tells(verdicts, text string) bool {
	v, _ := sdk.Parse(text)
	for _, part := range strings.Split(verdicts, "before ")[1:] {
		number := strings.FieldsFunc(part, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if len(number) == 0 {
			continue
		}
		if told, ok := sdk.Parse(strings.Trim(number[0], ".")); ok && v.Compare(told) < 0 {
			return true
		}
	}
	return false
}

// checkNext compares which file the next message goes to.
func checkNext(t *testing.T, want answer, verdicts string) {
	t.Helper()
	if want.Overwrites != strings.Contains(verdicts, "would overwrite "+want.Next) {
		t.Errorf("the SDK writes %s next (over a file: %v), the verdicts: %s", want.Next, want.Overwrites, verdicts)
	}
	if strings.Contains(want.Next, "TypeError") && !strings.Contains(verdicts, "writing the next message fails") {
		t.Errorf("the next message is %s, the verdicts: %s", want.Next, verdicts)
	}
}

func equalMessages(t *testing.T, a, b answer) bool {
	return slices.Equal(plainMessages(t, a.Messages), plainMessages(t, b.Messages))
}

func rawMessages(a answer) (list [][]byte) {
	for _, m := range a.Messages {
		list = append(list, m)
	}
	return list
}
