package runs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestDecode_storesOfTheSDKs(t *testing.T) {
	var b strings.Builder
	for _, name := range glob(t, pythonStores, typeScriptDone) {
		r := decode(t, read(t, name))
		fmt.Fprintf(&b, "%s\n%s", short(name), picture(r))
		for i := range r.Len() {
			fmt.Fprintf(&b, "\n-- %d\n", i)
			for _, f := range r.Facts(i) {
				fmt.Fprintf(&b, "%s: %s\n", f.Label, f.Value)
			}
			fmt.Fprintf(&b, "%s\n", r.State(i))
		}
		b.WriteString("\n")
	}
	golden(t, "stores.txt", b.String())
}

// Every version of a record that the SDKs wrote while they ran, one after the
// other: the ids at the left show what stays.
func TestDecode_everyVersionOfALife(t *testing.T) {
	var b strings.Builder
	for _, name := range glob(t, pythonLife, typeScriptLife) {
		r := decode(t, read(t, name))
		fmt.Fprintf(&b, "%s\n%s", short(name), picture(r))
		for _, f := range r.Facts(r.Len() - 1) {
			fmt.Fprintf(&b, "    %s: %s\n", f.Label, f.Value)
		}
		b.WriteString("\n")
	}
	golden(t, "lives.txt", b.String())
}

func TestDecode_hazards(t *testing.T) {
	var b strings.Builder
	for _, sdk := range []struct {
		name, folder string
		within       []string
	}{{"python", "python-multiagent-life", nil}, {"typescript", "typescript-multiagent-life", []string{"data"}}} {
		for _, h := range hazards(t, sdk.name) {
			r := decode(t, h.build(t, sdk.folder, sdk.within...))
			fmt.Fprintf(&b, "%s\n%s\n", filepath.Join(sdk.name, h.Name), picture(r))
		}
	}
	golden(t, "hazards.txt", b.String())
}
