// Package messagestab is the tab with the conversation in a state. (In the making by the engineer of the
// tabs: do not write this package, use it.)
package messagestab
