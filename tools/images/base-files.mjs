import { file } from './oci-image.mjs'

/** The user that programs run as, as in distroless images. */
export const nonroot = '65532:65532'

/**
 * What programs expect of any system: users, how names are resolved, a place for temporary files.
 * @returns {readonly import('./tar.mjs').TarEntry[]}
 */
export function baseFiles() {
  return [
    file(
      'etc/passwd',
      'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n',
    ),
    file('etc/group', 'root:x:0:\nnonroot:x:65532:\n'),
    file('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n'),
    { path: 'tmp', type: 'folder', mode: 0o1777 },
  ]
}
