// Package checkpointtab is the tab with the decoded checkpoint. (In the making
// by the integrating engineer: do not write this package, use it.)
package checkpointtab
