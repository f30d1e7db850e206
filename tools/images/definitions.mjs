/**
 * @typedef {object} ProgramImage an image of one program
 * @property {string} name
 * @property {string} title
 * @property {string} bundle of tools/programs.mjs
 * @property {readonly number[]} ports that the program listens on by default
 * @property {string} [page] folder of a page that the program serves, made by tools/lib/bundle-page.mjs
 * @property {readonly string[]} [companions] other bundles of tools/programs.mjs that the program starts
 */

/** Serves driver packages; programs that have drivers look for it beside themselves. */
const driverHost = 'packages/driver-process/dist/osm-driver-host.mjs'

/**
 * The images that run a bundled program; images/<name>/Dockerfile makes the same one by a container engine.
 * @type {readonly ProgramImage[]}
 */
export const programImages = [
  {
    name: 'osm-controller',
    title: 'Controller of osm-ts',
    bundle: 'packages/controller/dist/osm-controller.mjs',
    companions: [driverHost],
    ports: [9091, 9092, 9093, 9094, 9097, 15128],
  },
  {
    name: 'osm-injector',
    title: 'Injector of osm-ts',
    bundle: 'packages/injector/dist/osm-injector.mjs',
    companions: [driverHost],
    ports: [9090, 9091],
  },
  {
    name: 'osm-bootstrap',
    title: 'Bootstrap of osm-ts',
    bundle: 'packages/bootstrap/dist/osm-bootstrap.mjs',
    ports: [9091],
  },
  {
    name: 'osm-dashboard',
    title: 'Page of a mesh of osm-ts',
    bundle: 'packages/cli/dist/osm-dashboard.mjs',
    page: 'packages/cli/dist/dashboard-page',
    ports: [8443, 9091],
  },
  {
    name: 'osm-preinstall',
    title: 'Checks of osm-ts before its installation',
    bundle: 'packages/bootstrap/dist/osm-preinstall.mjs',
    ports: [],
  },
  {
    name: 'osm-cleanup',
    title: 'Cleans up after an installation of osm-ts',
    bundle: 'packages/bootstrap/dist/osm-cleanup.mjs',
    ports: [],
  },
]

/** The init container that redirects the traffic of a pod: a shell and the iptables programs. */
export const sidecarInitImage = { name: 'osm-sidecar-init', title: 'Init container of pods of osm-ts' }

/** Where Node.js is in the images, as in the distroless ones. */
export const nodePath = '/nodejs/bin/node'

/** Where programs are in the images. */
export const programFolder = '/app'

/**
 * Where a program is in its image.
 * @param {string} name of the image
 */
export function programPath(name) {
  return `${programFolder}/${name}.mjs`
}
