/** Ends the API server of the run; see global-setup.mjs. */
export default async function globalTeardown() {
  const { child, ended } = globalThis.osmApiServer ?? {}
  child?.stdin.end()
  await ended
}
