import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { bundlePrograms } from '../../../tools/lib/bundle.mjs'
import { ensureKubectlAndHelm } from '../../../tools/setup/kubectl-and-helm.mjs'
import { subjectVariable } from '../../../tools/reports/report-files.mjs'
import { clusterCommand, removeForgottenClusters } from './cluster-command.mjs'
import { describeSubject } from './subject.mjs'

/**
 * Makes the cluster that the whole run shares, and gives it the images. One that is up already is used, and left as it is.
 */
export default async function globalSetup() {
  await removeForgottenClusters()
  const options = process.env.OSM_CLUSTER_OPTIONS?.split(/\s+/).filter(Boolean) ?? ['--name', `t${process.pid}`]
  const before = await clusterCommand('status', options)
  const wasUp = before.answer?.state === 'up'
  // Kept also for a start that fails: the end of the run takes down what there is.
  globalThis.osmCluster = wasUp ? undefined : { options }
  const cluster = wasUp ? before.answer.cluster : (await clusterCommand('up', options)).succeeded()
  const { images } = (await clusterCommand('load', options)).succeeded()
  // Tests run the commands of users.
  await bundlePrograms(['osm'])
  const { helm, kubectl } = await ensureKubectlAndHelm()
  const folder = mkdtempSync(join(tmpdir(), 'osm-ts-cluster-'))
  const path = join(folder, 'description.json')
  writeFileSync(path, JSON.stringify({ ...cluster, images, helm, kubectl }))
  process.env.OSM_CLUSTER_DESCRIPTION = path
  globalThis.osmClusterFolder = folder
  const subjectFile = process.env[subjectVariable]
  if (subjectFile !== undefined) {
    mkdirSync(dirname(subjectFile), { recursive: true })
    const subject = await describeSubject({ cluster, images, kubectl, helm })
    writeFileSync(subjectFile, JSON.stringify(subject, undefined, 2))
  }
}
