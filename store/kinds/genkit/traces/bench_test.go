package traces

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// aFolder is a project's: 500 turns, and 1500 reads of snapshots of 100 kB, half
// of which the index does not tell of yet.
func aFolder(b *testing.B) *Traces {
	f := newFolder(b)
	var index strings.Builder
	large := `{"spans":{"a":{"attributes":{"genkit:metadata:subtype":"agent-snapshot","genkit:output":"` + strings.Repeat("state ", 100<<10/6) + `"}}}}`
	for i := range 2000 {
		id := fmt.Sprintf("%032x", i)
		if i%4 == 0 {
			f.write("traces/"+id, aTrace(id, fmt.Sprint("session ", i%80), fmt.Sprint("snapshot ", i)))
			fmt.Fprintf(&index, `{"id":%q,"type":"agent"}`+"\n", id)
			continue
		}
		f.write("traces/"+id, large)
		if i%2 == 0 || i < 1000 {
			fmt.Fprintf(&index, `{"id":%q,"type":"agent-snapshot"}`+"\n", id)
		}
	}
	f.write("traces_idx/idx_1.json", index.String())
	return open(b, f.dir)
}

func BenchmarkTurns_first(b *testing.B) {
	tr := aFolder(b)
	b.ReportAllocs()
	for b.Loop() {
		fresh := New(tr.tree, tr.dir)
		if turns, err := fresh.Turns(b.Context(), "session 40"); err != nil || len(turns) != 25 {
			b.Fatal(len(turns), err)
		}
	}
}

func BenchmarkTurns_again(b *testing.B) {
	tr := aFolder(b)
	b.ReportAllocs()
	for b.Loop() {
		if turns, err := tr.Turns(b.Context(), "session 40"); err != nil || len(turns) != 25 {
			b.Fatal(len(turns), err)
		}
	}
}

// BenchmarkTrace is taking one real trace apart, and putting a step together.
func BenchmarkTrace(b *testing.B) {
	data, err := os.ReadFile(fixture("devproject-go-1.13.1") + "/.genkit/traces/433de5d561d1e3d4e99c3606e2f6a450")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("turns", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if d := mustRead(b, data); len(d.turns(ended)) != 1 {
				b.Fatal("no turn")
			}
		}
	})
	b.Run("state", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := mustRead(b, data).state("1b3f52d34b1ef082", ended); err != nil {
				b.Fatal(err)
			}
		}
	})
}
