package jsonl_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"hindcast/store/kinds/jsonl"
)

// pageOf writes a page with rows in it, or without where rows are nil.
func pageOf(t *testing.T, rows io.Reader) string {
	t.Helper()
	var page bytes.Buffer
	page.WriteString(`<!DOCTYPE html><html><head><meta name="generator" content="Hindcast"></head><body>`)
	page.Write(bytes.Repeat([]byte("words &lt;script type="), 40_000)) // more than is read at once
	if rows != nil {
		page.WriteString(`<script type="application/x-hindcast">`)
		text := base64.NewEncoder(base64.StdEncoding, &page)
		packed := gzip.NewWriter(text)
		if _, err := io.Copy(packed, rows); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(packed.Close(), text.Close()); err != nil {
			t.Fatal(err)
		}
		page.WriteString(`</script>`)
	}
	page.WriteString("</body></html>\n")
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The rows in a page are read as those of a file of their own.
func TestOpen_page(t *testing.T) {
	var rows bytes.Buffer
	if _, err := jsonl.Write(&rows, rowsOf(`{"n":1}`, `{"n":2}`)); err != nil {
		t.Fatal(err)
	}
	path := pageOf(t, &rows)
	if _, is, err := jsonl.Kind().Recognise(t.Context(), path); !is || err != nil {
		t.Fatalf("it is not recognised: %v", err)
	}
	s, err := jsonl.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	for _, err := range s.Headers(t.Context(), "s") {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 2 {
		t.Errorf("%d snapshots", n)
	}
}

// zeros are bytes that take next to no room when they are compressed.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A page without rows says so, and a bomb in one is not unpacked.
func TestOpen_pageRefused(t *testing.T) {
	if _, err := jsonl.Open(t.Context(), pageOf(t, nil)); !errors.Is(err, jsonl.ErrNoRows) {
		t.Errorf("without rows: %v", err)
	}
	if testing.Short() {
		t.Skip("it unpacks 256 MB")
	}
	if _, err := jsonl.Open(t.Context(), pageOf(t, io.LimitReader(zeros{}, 1<<28+1<<20))); !errors.Is(err, jsonl.ErrTooManyRows) {
		t.Errorf("a bomb: %v", err)
	}
}
