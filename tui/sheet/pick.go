package sheet

import "hindcast/tui/theme"

// Pick chooses a token, so that a row can be drawn under the cursor too; nil
// stands for plain text.
type Pick func(*theme.Tokens) theme.Style

// The picks, each named as the token that it chooses.
func Text(t *theme.Tokens) theme.Style     { return t.Text }
func Strong(t *theme.Tokens) theme.Style   { return t.Strong }
func Muted(t *theme.Tokens) theme.Style    { return t.Muted }
func Title(t *theme.Tokens) theme.Style    { return t.Title }
func Head(t *theme.Tokens) theme.Style     { return t.Head }
func Active(t *theme.Tokens) theme.Style   { return t.Active }
func Orphaned(t *theme.Tokens) theme.Style { return t.Orphaned }
func Key(t *theme.Tokens) theme.Style      { return t.Key }
func KeyOff(t *theme.Tokens) theme.Style   { return t.KeyOff }
func Number(t *theme.Tokens) theme.Style   { return t.Number }
func Error(t *theme.Tokens) theme.Style    { return t.Error }
func Warn(t *theme.Tokens) theme.Style     { return t.Warn }
func Good(t *theme.Tokens) theme.Style     { return t.Good }

func (p Pick) style(tokens *theme.Tokens) theme.Style {
	if p == nil {
		return tokens.Text
	}
	return p(tokens)
}
