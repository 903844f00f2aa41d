package cli

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

// writeSchedule prints how the system keeps sessions every hour, and how Claude Code keeps them at the end of each. It
// changes nothing.
func (p *printer) writeSchedule() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("keep: find the program: %w", err)
	}
	var path strings.Builder
	if err := xml.EscapeText(&path, []byte(program)); err != nil {
		return err
	}
	hook, err := json.Marshal(shellWord(program) + " keep")
	if err != nil {
		return err
	}
	unit := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(program)
	_, err = fmt.Fprintf(p, `# Linux: ~/.config/systemd/user/hindcast-keep.service
[Service]
Type=oneshot
ExecStart="%s" keep

# Linux: ~/.config/systemd/user/hindcast-keep.timer; then systemctl --user enable --now hindcast-keep.timer
[Timer]
OnCalendar=hourly
Persistent=true
[Install]
WantedBy=timers.target

<!-- macOS: ~/Library/LaunchAgents/hindcast.keep.plist; then launchctl load that file -->
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key><string>hindcast.keep</string>
<key>ProgramArguments</key><array><string>%s</string><string>keep</string></array>
<key>StartInterval</key><integer>3600</integer>
</dict></plist>

# Claude Code: a hook in ~/.claude/settings.json
{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":%s}]}]}}
`, unit, &path, hook)
	return err
}
