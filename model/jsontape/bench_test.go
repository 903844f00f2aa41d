package jsontape

import (
	"encoding/json"
	"strings"
	"testing"

	"hindcast/model/jsontape/jsontest"
)

const mb = 1 << 20

func BenchmarkSkip(b *testing.B) {
	data := jsontest.New(10*mb, 1).JSON()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Skip(data, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, data := range map[string][]byte{
		"compact":  jsontest.New(10*mb, 1).JSON(),
		"indented": jsontest.New(10*mb, 1).IndentedJSON(),
		"program":  []byte(`{"output":"` + strings.Repeat(`\tif err := step(ctx, \"part 7\"); err != nil {\n\t\treturn fmt.Errorf(\"step 7: %w\", err)\n\t}\n`, mb/100) + `"}`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParse_peerEncodingJSON decodes what BenchmarkParse/compact parses.
func BenchmarkParse_peerEncodingJSON(b *testing.B) {
	data := jsontest.New(10*mb, 1).JSON()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseTolerant is the full index: tape, hashes and warnings.
func BenchmarkParseTolerant(b *testing.B) {
	data := jsontest.New(10*mb, 1).JSON()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ParseTolerant(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	data := jsontest.New(10*mb, 1).JSON()
	tape, err := Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		t := Tape{data: tape.data, nodes: tape.nodes}
		t.Hash(0)
	}
}

// BenchmarkPrefix is the first screen of a 100 MB state.
func BenchmarkPrefix(b *testing.B) {
	data := jsontest.New(100*mb, 1).JSON()
	b.ReportAllocs()
	for b.Loop() {
		if t := Prefix(data, 256<<10); t.Len() < 50 {
			b.Fatal("too little")
		}
	}
}
