import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** Volumes of each node. Each is used once: what was on it stays, as with every volume that is retained. */
const volumesOfNode = 8
const capacity = '10Gi'
/** Of a machine, where it sees it. */
const volumesFolder = '/var/lib/volumes'

/**
 * The default storage class and the volumes behind it, as objects of one list. Nothing provides further ones: each volume is a folder of a node, on the disk of
 * this machine, without its own limit.
 */
export function storageManifests(nodes: readonly string[]): object {
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: 'local', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
        provisioner: 'kubernetes.io/no-provisioner',
        // A volume is chosen after the node of its pod.
        volumeBindingMode: 'WaitForFirstConsumer',
      },
      ...nodes.flatMap((node) => volumeNumbers().map((number) => volume(node, number))),
    ],
  }
}

/** Makes the folders of a node's volumes, which programs of any user may write. */
export function makeVolumeFolders(machineFolder: string): void {
  for (const number of volumeNumbers()) {
    const folder = join(machineFolder, 'lib', 'volumes', String(number))
    mkdirSync(folder, { recursive: true })
    // The mode of mkdir is cut by the mask of the process.
    chmodSync(folder, 0o777)
  }
}

function volume(node: string, number: number): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `${node}-${number}` },
    spec: {
      capacity: { storage: capacity },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: 'local',
      local: { path: `${volumesFolder}/${number}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
          ],
        },
      },
    },
  }
}

function volumeNumbers(): readonly number[] {
  return Array.from({ length: volumesOfNode }, (_, index) => index + 1)
}
