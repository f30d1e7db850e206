import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { readChartValues } from '../chart/values.mjs'
import { programs } from '../programs.mjs'
import { root } from '../lib/paths.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { baseFiles, nonroot } from './base-files.mjs'
import { nodePath, programImages } from './definitions.mjs'
import { haproxyImage, haproxyImageName } from './haproxy-image.mjs'
import { hostFile, packageRecords, sharedLibraries } from './host-files.mjs'
import { file, makeImage, makeLayer } from './oci-image.mjs'
import { programImage } from './program-image.mjs'
import { writeArchive } from './write-archive.mjs'

/** @typedef {import('./assemble.mjs').ImageSettings} ImageSettings */
/** @typedef {import('./assemble.mjs').AssembledImage} AssembledImage */

/** The application of the pods that tests make. */
export const testAppName = 'test-app'
/** What the manifests of examples/bookstore run, which find Node.js where {@link nodePath} is. */
const sampleReference = 'gcr.io/distroless/nodejs24-debian12:nonroot'
/** What the manifests of the Gateway API's conformance suite run, in the release that tools/gateway-api pins. */
const echoReference = 'registry.k8s.io/gateway-api/echo-advanced:v1.5.1'
/** What charts/osm/templates/_checks.tpl takes for class pipy. */
const pipyReference = 'flomesh/pipy:1.5.18'
/** The ingress gateway of tests. */
const gatewayName = 'nginx'
/** Of tools/programs.mjs: the main module of the driver package that tests have control planes load. */
export const testDriverName = 'test-driver'
/** Programs that load packages; of each there is an image `<name>-acme` with those of tests in it. */
const packageLoaders = ['osm-controller', 'osm-injector']

/** What the pods of helm test run. */
export const curlProgram = '/usr/bin/curl'

/** What pods of guides are kept alive with, by where they find it: `command: ["sleep", "365d"]`, or a shell. */
const curlTools = ['/bin/sleep', '/bin/sh', '/bin/cat', '/bin/ls']

/** What starts Pipy in a container, and ends it. */
const pipyTools = ['/bin/sh']

/**
 * Images that stand where those of others would be pulled from, under the names that the chart knows them by, and those of the pods that tests make.
 * @param {ImageSettings} settings
 * @param {{ base: import('./oci-image.mjs').Layer, envoy: string, nginx: string, pipy?: string, haproxy?: string, azure: string, folder: string }} sources pipy, haproxy: of images that are left out without them; azure: folder of the package of that endpoints provider
 * @returns {AsyncGenerator<AssembledImage>}
 */
export async function* assembleTestImages(settings, { base, envoy, nginx, pipy, haproxy, azure, folder }) {
  const values = readChartValues(readFileSync(join(root, 'charts/osm/values.yaml'), 'utf8'))
  yield writeArchive(testAppImage(settings, base), folder, testAppName)
  yield writeArchive(echoImage(settings, base), folder, 'echo-advanced')
  yield writeArchive(sampleImage(settings, base), folder, 'nodejs')
  const packages = makeLayer('a driver of a third party, and an endpoints provider', [
    ...testDriverFiles().map(({ path, content }) => file(`drivers/acme/${path}`, content, 0o444)),
    ...readdirSync(azure).map((path) => file(`providers/azure/${path}`, readFileSync(join(azure, path)), 0o444)),
  ])
  for (const definition of programImages.filter(({ name }) => packageLoaders.includes(name))) {
    const name = `${definition.name}-acme`
    yield writeArchive(programImage(definition, settings, base, { name, layer: packages }), folder, name)
  }
  yield writeArchive(await envoyImage(settings, sidecarImageOf(values), envoy), folder, 'envoy')
  if (pipy !== undefined)
    yield writeArchive(await hostProgramImage(settings, pipyReference, pipy, 'pipy', pipyTools), folder, 'pipy')
  if (haproxy !== undefined) yield writeArchive(await haproxyImage(settings, base, haproxy), folder, haproxyImageName)
  if (!existsSync(curlProgram))
    throw new SetUpError('curl is needed for the image of the pods of helm test; install it')
  yield writeArchive(
    await hostProgramImage(settings, String(chartDefault(values, 'osm.curlImage')), curlProgram, 'curl', curlTools),
    folder,
    'curl',
  )
  const gateway = `${settings.registry}/${gatewayName}:${settings.tag}`
  yield writeArchive(await hostProgramImage(settings, gateway, nginx, gatewayName), folder, gatewayName)
}

/**
 * The driver package of class acme, as it is in /drivers/acme of those images.
 * @returns {readonly { readonly path: string, readonly content: Buffer }[]}
 */
export function testDriverFiles() {
  const bundle = programs[testDriverName]?.bundle
  if (bundle === undefined) throw new Error(`tools/programs.mjs lists no ${testDriverName}`)
  const manifest = { name: 'acme-driver', version: '1.2.3', type: 'module', main: 'index.mjs' }
  return [
    { path: 'index.mjs', content: readFileSync(join(root, bundle)) },
    { path: 'package.json', content: Buffer.from(JSON.stringify(manifest)) },
  ]
}

/**
 * The name by which a node knows an image: container runtimes complete what is short.
 * @param {string} reference
 */
export function completeReference(reference) {
  const [first = '', ...rest] = reference.split('/')
  const hasRegistry = rest.length > 0 && (first === 'localhost' || /[.:]/.test(first))
  const path = hasRegistry ? reference : `docker.io/${rest.length > 0 ? '' : 'library/'}${reference}`
  return /:[^/]+$/.test(path) ? path : `${path}:latest`
}

/**
 * @param {ImageSettings} settings
 * @param {import('./oci-image.mjs').Layer} base
 */
export function testAppImage({ registry, tag, architecture, labels }, base) {
  const { path, entry } = testAppFile()
  return makeImage({
    name: `${registry}/${testAppName}:${tag}`,
    architecture,
    layers: [base, makeLayer('the test application', [entry])],
    config: { User: nonroot, Entrypoint: [nodePath, path], WorkingDir: '/', Labels: labels },
  })
}

/**
 * The test application in the role, and under the name, of the server of the Gateway API's conformance suite. The suite runs `client` in its pods.
 * @param {ImageSettings} settings
 * @param {import('./oci-image.mjs').Layer} base
 */
function echoImage({ architecture, labels }, base) {
  const { path, entry } = testAppFile()
  const script = `#!${nodePath}\nprocess.argv.splice(2, 0, 'client')\nimport('${path}')\n`
  const client = file('usr/local/bin/client', Buffer.from(script), 0o555)
  return makeImage({
    name: echoReference,
    architecture,
    layers: [base, makeLayer('the echo server of the Gateway API', [entry, client])],
    config: {
      User: nonroot,
      Env: ['PATH=/usr/local/bin'],
      Entrypoint: [nodePath, path, 'echo'],
      WorkingDir: '/',
      Labels: labels,
    },
  })
}

/**
 * Node.js alone, under the name of the image of the bookstore.
 * @param {ImageSettings} settings
 * @param {import('./oci-image.mjs').Layer} base
 */
function sampleImage({ architecture, labels }, base) {
  const config = { User: nonroot, Entrypoint: [nodePath], WorkingDir: '/', Labels: labels }
  return makeImage({ name: sampleReference, architecture, layers: [base], config })
}

function testAppFile() {
  const bundle = programs[testAppName]?.bundle
  if (bundle === undefined) throw new Error(`tools/programs.mjs lists no ${testAppName}`)
  const path = `/app/${testAppName}.mjs`
  return { path, entry: file(path.slice(1), readFileSync(join(root, bundle)), 0o555) }
}

/**
 * @param {ImageSettings} settings
 * @param {string} reference
 * @param {string} program path of an Envoy
 */
export function envoyImage(settings, reference, program) {
  return hostProgramImage(settings, reference, program, 'envoy')
}

/**
 * An image of one program of this machine.
 * @param {ImageSettings} settings
 * @param {string} reference
 * @param {string} program
 * @param {string} name under which it is found in the image
 * @param {readonly string[]} [tools] programs that are there as well, in the same place as here
 */
async function hostProgramImage({ architecture, labels }, reference, program, name, tools = []) {
  const libraries = await sharedLibraries([program, ...tools])
  const path = `/usr/local/bin/${name}`
  const layer = makeLayer(`${name} and its shared libraries`, [
    ...baseFiles(),
    hostFile(program, path),
    ...tools.map((tool) => hostFile(realpathSync(tool), tool)),
    ...libraries.map((library) => hostFile(library)),
    ...(await packageRecords([program, ...tools.map((tool) => realpathSync(tool)), ...libraries])),
  ])
  return makeImage({
    name: completeReference(reference),
    architecture,
    layers: [layer],
    config: {
      User: nonroot,
      Env: ['PATH=/usr/local/bin:/usr/bin:/bin'],
      Entrypoint: [path],
      WorkingDir: '/',
      Labels: labels,
    },
  })
}

/**
 * @param {readonly import('../chart/values.mjs').ChartValue[]} values
 * @param {string} path
 * @returns {unknown}
 */
function chartDefault(values, path) {
  const found = values.find((value) => value.path === path || path.startsWith(`${value.path}.`))
  if (found === undefined) throw new Error(`charts/osm/values.yaml has no ${path}`)
  return found.path === path ? found.default : chartDefault(found.children, path)
}

/** @param {readonly import('../chart/values.mjs').ChartValue[]} values */
function sidecarImageOf(values) {
  const drivers = /** @type {readonly { sidecarName: string, sidecarImage: string }[]} */ (
    chartDefault(values, 'osm.sidecarDrivers')
  )
  const image = drivers.find(({ sidecarName }) => sidecarName === 'envoy')?.sidecarImage
  if (image === undefined) throw new Error('charts/osm/values.yaml has no image for the sidecar class envoy')
  return image
}
