/**
 * Makes packages/envoy-api/gen: Envoy's API as JavaScript and type declarations. The descriptors come from a published
 * package, so neither .proto files nor generated code are committed.
 */
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import * as wkt from '@bufbuild/protobuf/wkt'
import { cachedFolder, hashInputs } from './lib/cache.mjs'
import { root } from './lib/paths.mjs'
import { run } from './lib/process.mjs'
import { timed } from './lib/progress.mjs'
import { downloadWheel, findPython } from './setup/python.mjs'
import { SetUpError } from './lib/set-up-error.mjs'

const descriptorPackage = 'xds-protos==1.85.0'
const pluginOptions = 'target=js+dts,import_extension=js'

const genFolder = join(root, 'packages/envoy-api/gen')
const modules = join(root, 'node_modules')
const entryFiles = join(root, 'tools/protos/entry-files.txt')
const reader = join(root, 'tools/protos/read_descriptors.py')
const ownFileDesc = join(root, 'tools/protos/file-desc.js')

/** True when packages/envoy-api/gen was made from the inputs as they are now. */
export async function envoyApiIsCurrent() {
  const stamp = join(genFolder, '.inputs')
  return existsSync(stamp) && (await readFile(stamp, 'utf8')) === (await inputHash())
}

/** Brings packages/envoy-api/gen up to date; does nothing when it is. */
export async function ensureEnvoyApi() {
  if (await envoyApiIsCurrent()) return
  const hash = await inputHash()
  const cached = await cachedFolder(`envoy-api-${hash}`, (folder) =>
    timed("Generating Envoy's API types", () => generate(folder, hash)),
  )
  await replaceFolder(cached, genFolder)
}

async function inputHash() {
  const code = ['@bufbuild/protobuf/package.json', '@bufbuild/protoc-gen-es/package.json'].map((path) =>
    join(modules, path),
  )
  const files = [...code, entryFiles, reader, ownFileDesc, import.meta.filename].map((path) => readFile(path))
  return hashInputs([descriptorPackage, pluginOptions, ...(await Promise.all(files))])
}

/**
 * @param {string} folder
 * @param {string} hash
 */
async function generate(folder, hash) {
  const work = join(folder, '.work')
  await mkdir(work)
  await downloadWheel(descriptorPackage, work)
  const wheel = (await readdir(work)).find((name) => name.endsWith('.whl'))
  if (wheel === undefined) throw new SetUpError(`pip left no wheel of ${descriptorPackage}.`)
  const descriptors = join(work, 'descriptors.binpb')
  const { code, stderr } = await run(await findPython(), [reader, join(work, wheel), entryFiles, descriptors])
  if (code !== 0) throw new SetUpError(`Could not read descriptors from ${wheel}.`, stderr)
  for (const { name, content } of await runPlugin(await readFile(descriptors))) {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, withOwnFileDesc(name, content))
  }
  await cp(ownFileDesc, join(folder, 'file-desc.js'))
  await rm(work, { recursive: true })
  await writeFile(join(folder, '.inputs'), hash)
}

/**
 * Calls protoc-gen-es the way protoc does: one request on standard input, one response on standard output.
 * @param {Uint8Array} descriptorSet
 */
async function runPlugin(descriptorSet) {
  const { file: files } = fromBinary(wkt.FileDescriptorSetSchema, descriptorSet)
  const imports = new Set(files.flatMap((file) => file.dependency))
  const request = create(wkt.CodeGeneratorRequestSchema, {
    fileToGenerate: files.map((file) => file.name),
    parameter: pluginOptions,
    protoFile: [...wellKnownFiles().filter((file) => imports.has(file.name)), ...files],
  })
  const plugin = join(modules, '@bufbuild/protoc-gen-es/bin/protoc-gen-es')
  const input = toBinary(wkt.CodeGeneratorRequestSchema, request)
  const { code, stdout, stderr } = await run(process.execPath, [plugin], { input })
  if (code !== 0) throw new Error(`protoc-gen-es ended with exit code ${code}: ${stderr}`)
  const response = fromBinary(wkt.CodeGeneratorResponseSchema, stdout)
  if (response.error !== '') throw new Error(`protoc-gen-es: ${response.error}`)
  return response.file
}

/**
 * Has a generated module make its descriptor with tools/protos/file-desc.js.
 * @param {string} name of the module
 * @param {string} content
 */
function withOwnFileDesc(name, content) {
  if (!name.endsWith('.js')) return content
  const path = '../'.repeat(name.split('/').length - 1) + 'file-desc.js'
  const [line = '', names = ''] =
    /^import \{ (.*\bfileDesc\b.*) \} from "@bufbuild\/protobuf\/codegenv2";$/m.exec(content) ?? []
  const others = names.split(', ').filter((each) => each !== 'fileDesc')
  if (line === '' || others.length === 0) throw new Error(`${name} imports no fileDesc as protoc-gen-es writes it.`)
  return content.replace(line, `${line.replace(names, others.join(', '))}\nimport { fileDesc } from "${path}";`)
}

/** The files of google/protobuf, which the wheel lacks and the runtime library brings. */
function wellKnownFiles() {
  return Object.values(wkt).flatMap((value) => ('kind' in value && value.kind === 'file' ? [value.proto] : []))
}

/**
 * Puts a copy in place of a folder. A link would not do: the generated files must find @bufbuild/protobuf above them.
 * @param {string} source
 * @param {string} target
 */
async function replaceFolder(source, target) {
  const next = `${target}.next`
  const previous = `${target}.previous`
  await Promise.all([next, previous].map((path) => rm(path, { recursive: true, force: true })))
  await cp(source, next, { recursive: true })
  if (existsSync(target)) await rename(target, previous)
  await rename(next, target)
  await rm(previous, { recursive: true, force: true })
}

if (process.argv[1] === import.meta.filename) await ensureEnvoyApi()
