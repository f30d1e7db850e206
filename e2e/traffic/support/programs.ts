/**
 * Paths of the programs of the corpus, by the names of tools/setup/traffic-programs.mjs, which brings them.
 */
export function programPath(name: string): string {
  const found = process.env.OSM_TRAFFIC_PROGRAMS
  if (found === undefined)
    throw new Error(
      'OSM_TRAFFIC_PROGRAMS names no programs; run the tests by `npm run test:traffic`, which brings them',
    )
  const path = (JSON.parse(found) as Readonly<Record<string, string>>)[name]
  if (path === undefined) throw new Error(`set-up brings no program ${name}: see tools/setup/traffic-programs.mjs`)
  return path
}
