package messages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model/jsontape"
	"hindcast/store/media/files"
	"hindcast/store/sdk"
	"hindcast/store/storetest"
)

// All that is named as a session and is none is told, also behind one that is.
func TestFaults_ofAllThatIsNoSession(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"session_a", "session_d", "session_g"} {
		hazards(t)["healthy"].write(t, filepath.Join(dir, name))
	}
	for _, name := range []string{"session_b", "session_e", "other"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"session_c", "session_f", "a file"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("none", filepath.Join(dir, "session_h")); err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, f := range storetest.Faults(t, open(t, dir), "") {
		told[f.File] = f.Code
	}
	for name, code := range map[string]string{
		"session_b": FaultSessionFile, "session_e": FaultSessionFile, "session_c": FaultStray, "session_f": FaultStray, "session_h": FaultSymlink,
	} {
		if told[name] != code {
			t.Errorf("%s is %q, not %q", name, told[name], code)
		}
		delete(told, name)
	}
	for name, code := range told {
		if strings.HasPrefix(name, "session_") || name == "other" || name == "a file" {
			t.Errorf("%s is %q", name, code)
		}
	}
}

// Of each sort of oddity the first is told, however many of another sort come before it.
func TestOddities_ofSeveralSorts(t *testing.T) {
	const twice, number, half = `"k":1,"k":2`, `NaN`, `"\ud800"`
	for text, want := range map[string][]string{
		`{` + twice + `}`:                                              {FaultDuplicateKey},
		`[{` + twice + `},{` + twice + `},NaN]`:                        {FaultDuplicateKey, FaultNumber},
		`[NaN,NaN,Infinity,` + half + `,` + half + `,{` + twice + `}]`: {FaultNumber, FaultSurrogate, FaultDuplicateKey},
		`[` + half + `,` + half + `,{` + twice + `},` + number + `]`:   {FaultSurrogate, FaultDuplicateKey, FaultNumber},
		`{"k":1}`: nil,
	} {
		tape, _, err := jsontape.ParseTolerant([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range oddities(&files.Document{Data: []byte(text), Tape: tape}, sdk.Verdict{}) {
			got = append(got, f.code)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", text, got, want)
		}
	}
}
