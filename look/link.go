package look

import (
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// LinkTarget returns the URI that a terminal opens for an absolute path, or for an address of http, https or file; "" for
// any other text. All bytes that could end the link are percent-encoded.
func LinkTarget(place string) string {
	if scheme, _, isAddress := strings.Cut(place, "://"); isAddress {
		u, err := url.Parse(place)
		if err != nil || scheme != u.Scheme || u.User != nil || scheme != "http" && scheme != "https" && scheme != "file" {
			return ""
		}
		return encodeBytes(u.String())
	}
	if !filepath.IsAbs(place) {
		return ""
	}
	slashed := filepath.ToSlash(place)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive of Windows
	}
	return encodeBytes((&url.URL{Scheme: "file", Path: slashed}).String())
}

// encodeBytes percent-encodes what is not visible ASCII.
func encodeBytes(uri string) string {
	var b strings.Builder
	for _, c := range []byte(uri) {
		if c <= ' ' || c > '~' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Link returns the escape sequences that begin and end a link to a target of [LinkTarget] on a terminal (OSC 8).
func Link(target string) (begin, end string) {
	const introducer, terminator = "\x1b]8;;", "\x1b\\"
	return introducer + target + terminator, introducer + terminator
}

// Viewer returns the program with which the desktop opens a file, and its arguments.
func Viewer(path string) (program string, args []string) {
	switch runtime.GOOS {
	case "darwin":
		return "open", []string{path}
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler", path}
	}
	return "xdg-open", []string{path}
}
