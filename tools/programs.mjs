/**
 * The programs shipped as one file each, with folders that are copied beside it. Anyone who adds a program adds its line; a listed entry
 * that does not exist fails the build.
 * One with `page` serves the page of packages/dashboard from that folder.
 * One with `chunks` is shipped with that folder: what it imports only when it needs it lies there, so that it starts without reading it.
 * @type {Readonly<Record<string, { readonly entry: string, readonly bundle: string, readonly chunks?: string, readonly page?: string, readonly folders?: Readonly<Record<string, string>> }>>}
 */
export const programs = {
  osm: {
    entry: 'packages/cli/src/main.ts',
    bundle: 'packages/cli/dist/osm.mjs',
    // Most commands answer at once, and none needs all that some do.
    chunks: 'packages/cli/dist/osm-chunks',
    folders: { 'charts/osm': 'packages/cli/dist/chart' },
    page: 'packages/cli/dist/dashboard-page',
  },
  'osm-dashboard': {
    entry: 'packages/cli/src/osm-dashboard-main.ts',
    bundle: 'packages/cli/dist/osm-dashboard.mjs',
    page: 'packages/cli/dist/dashboard-page',
  },
  controller: {
    entry: 'packages/standalone/src/controller-main.ts',
    bundle: 'packages/standalone/dist/controller.mjs',
  },
  'osm-controller': {
    entry: 'packages/controller/src/osm-controller-main.ts',
    bundle: 'packages/controller/dist/osm-controller.mjs',
  },
  'osm-injector': {
    entry: 'packages/injector/src/injector-main.ts',
    bundle: 'packages/injector/dist/osm-injector.mjs',
  },
  'osm-driver-host': {
    entry: 'packages/driver-process/src/driver-host-main.ts',
    bundle: 'packages/driver-process/dist/osm-driver-host.mjs',
  },
  'osm-bootstrap': {
    entry: 'packages/bootstrap/src/bootstrap-main.ts',
    bundle: 'packages/bootstrap/dist/osm-bootstrap.mjs',
  },
  'osm-preinstall': {
    entry: 'packages/bootstrap/src/preinstall-main.ts',
    bundle: 'packages/bootstrap/dist/osm-preinstall.mjs',
  },
  'osm-cleanup': { entry: 'packages/bootstrap/src/cleanup-main.ts', bundle: 'packages/bootstrap/dist/osm-cleanup.mjs' },
  bench: { entry: 'e2e/bench/main.ts', bundle: 'e2e/dist/bench.mjs' },
  'scenario-actor': {
    entry: 'packages/driver-testkit/src/scenario-actor-main.ts',
    bundle: 'e2e/dist/scenario-actor.mjs',
  },
  'api-server': { entry: 'e2e/api/harness/server-main.ts', bundle: 'e2e/dist/api-server.mjs' },
  cluster: { entry: 'e2e/cluster/cluster-main.ts', bundle: 'e2e/dist/cluster.mjs' },
  'test-driver': { entry: 'e2e/cluster/driver/driver.ts', bundle: 'e2e/dist/test-driver.mjs' },
  'test-app': { entry: 'e2e/cluster/app/app-main.ts', bundle: 'e2e/dist/test-app.mjs' },
  'bench-injection-load': { entry: 'e2e/bench/injection-load-main.ts', bundle: 'e2e/dist/bench-injection-load.mjs' },
  'bench-sidecar-latency-load': {
    entry: 'e2e/bench/sidecar-latency-load-main.ts',
    bundle: 'e2e/dist/bench-sidecar-latency-load.mjs',
  },
  'bench-sidecar-throughput-load': {
    entry: 'e2e/bench/sidecar-throughput-load-main.ts',
    bundle: 'e2e/dist/bench-sidecar-throughput-load.mjs',
  },
  'bench-scale-api': { entry: 'e2e/bench/scale/api-main.ts', bundle: 'e2e/dist/bench-scale-api.mjs' },
  'bench-scale-proxies': { entry: 'e2e/bench/scale/proxies-main.ts', bundle: 'e2e/dist/bench-scale-proxies.mjs' },
  'bench-floor': { entry: 'e2e/bench/floor-main.ts', bundle: 'e2e/dist/bench-floor.mjs' },
  'bench-limits': { entry: 'e2e/bench/limits/limits-main.ts', bundle: 'e2e/dist/bench-limits.mjs' },
  'bench-soak-probe': { entry: 'e2e/bench/soak/probe-main.ts', bundle: 'e2e/dist/bench-soak-probe.mjs' },
}
