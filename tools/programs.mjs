/**
 * The programs shipped as one file each. Whoever adds a program adds its line; a listed entry that does not exist
 * fails the build.
 * @type {Readonly<Record<string, { readonly entry: string, readonly bundle: string }>>}
 */
export const programs = {
  osm: { entry: 'packages/cli/src/main.ts', bundle: 'packages/cli/dist/osm.mjs' },
  controller: {
    entry: 'packages/standalone/src/controller-main.ts',
    bundle: 'packages/standalone/dist/controller.mjs',
  },
  bench: { entry: 'e2e/bench/main.ts', bundle: 'e2e/dist/bench.mjs' },
  'api-server': { entry: 'e2e/api/harness/server-main.ts', bundle: 'e2e/dist/api-server.mjs' },
  'bench-clients': { entry: 'e2e/bench/clients-main.ts', bundle: 'e2e/dist/bench-clients.mjs' },
}
