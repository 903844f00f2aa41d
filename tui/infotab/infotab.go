// Package infotab is the tab with the facts about one snapshot. (In the making
// by the integrating engineer: do not write this package, use it.)
package infotab
