package jsontape

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"testing"
)

// suite returns the files of JSONTestSuite by name.
func suite(t testing.TB) map[string][]byte {
	t.Helper()
	f, err := os.Open("testdata/JSONTestSuite.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(h.Name, ".json") {
			continue
		}
		if files[path.Base(h.Name)], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestParse_decidesTheTestSuiteAsEncodingJSONDoes(t *testing.T) {
	files := suite(t)
	if len(files) != 318 {
		t.Fatalf("%d files, want 318", len(files))
	}
	for name, data := range files {
		tape, err := Parse(data)
		if got, want := err == nil, json.Valid(data); got != want {
			t.Errorf("%s: accepted %v, encoding/json %v (%v)", name, got, want, err)
		}
		if name[0] == 'y' && err != nil {
			t.Errorf("%s: must be accepted: %v", name, err)
		}
		if name[0] == 'n' && err == nil {
			t.Errorf("%s: must be rejected", name)
		}
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > int64(len(data))) {
			t.Errorf("%s: error without a place: %v", name, err)
		}
		if err == nil {
			checkTape(t, tape)
		}
	}
}
