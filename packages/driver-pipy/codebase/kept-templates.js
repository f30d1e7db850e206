// Templates that are made while the scripts run: for a certificate, for roots, or for a listener. Pipy 1.5 crashes when it frees one together with its last
// pipeline, so none is freed before the scripts are.

var kept = []

/** Keeps a template for as long as the scripts run. */
export function keepTemplate(template) {
  kept.push(template)
  return template
}
