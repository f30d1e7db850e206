import { describeOwnKeys } from './support/describe-own-keys.js'
import { haproxyPackage } from './support/haproxy-package.js'

describeOwnKeys('haproxy', haproxyPackage)
