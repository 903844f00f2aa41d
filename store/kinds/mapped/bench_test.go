package mapped_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store/kinds/mapped"
)

// Lines of 4 kB each, found and then read.
func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	const rows = 5000
	for i := range rows {
		fmt.Fprintf(&text, `{"id":%d,"parent":%d,"ts":%d,"state":{"n":%d,"messages":[{"role":"user","content":%q}]}}`+"\n", i, i-1, 1740823200+i, i, strings.Repeat("what next? ", 360))
	}
	path := filepath.Join(b.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	m, err := mapped.ParseMap("id=id,parent=parent,time=ts,state=state")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range mapped.Read(b.Context(), mapped.From(nil, path), m, nil) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != rows {
			b.Fatalf("%d rows", n)
		}
	}
}
