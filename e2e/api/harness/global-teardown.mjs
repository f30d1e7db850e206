/** Ends the API servers of the run; see global-setup.mjs. */
export default async function globalTeardown() {
  /** @type {readonly import('./global-setup.mjs').ServerProcess[]} */
  const servers = globalThis.osmApiServers ?? []
  for (const { child } of servers) child.stdin.end()
  await Promise.all(servers.map(({ ended }) => ended))
}
