package cli

import (
	"net/url"
	"path/filepath"
	"strings"

	"hindcast/model/printable"
)

// linkPath returns the text by which a path is shown, which is safe to print: on a terminal that opens links a link to
// the file (OSC 8). All bytes of the path that could end the link are percent-encoded.
func (p *printer) linkPath(path, shown string) string {
	shown = printable.String(shown)
	if !p.links || strings.Contains(path, "://") {
		return shown
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return shown
	}
	slashed := filepath.ToSlash(absolute)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive of Windows
	}
	target := url.URL{Scheme: "file", Path: slashed}
	return "\x1b]8;;" + target.String() + "\x1b\\" + shown + "\x1b]8;;\x1b\\"
}
