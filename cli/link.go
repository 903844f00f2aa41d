package cli

import (
	"path/filepath"
	"strings"

	"hindcast/look"
	"hindcast/model/printable"
)

// linkPath returns the text by which a path is shown, which is safe to print: on a terminal that opens links a link to
// the file.
func (p *printer) linkPath(path, shown string) string {
	shown = printable.String(shown)
	if !p.links {
		return shown
	}
	if absolute, err := filepath.Abs(path); err == nil && !strings.Contains(path, "://") {
		path = absolute
	}
	target := look.LinkTarget(path)
	if target == "" {
		return shown
	}
	begin, end := look.Link(target)
	return begin + shown + end
}
