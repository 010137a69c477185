;; Keeps STX for their owner until a time that the owner chooses.
(define-constant ERR_EMPTY (err u100))
(define-constant ERR_LOCKED (err u101))
(define-constant ERR_AMOUNT (err u102))

(define-map deposits principal { amount: uint, until: uint })

(define-read-only (get-deposit (owner principal))
  (map-get? deposits owner))

;; Adds STX. The time lock starts again with each deposit.
(define-public (deposit (amount uint) (seconds uint))
  (let ((before (default-to u0 (get amount (map-get? deposits tx-sender)))))
    (asserts! (> amount u0) ERR_AMOUNT)
    (try! (stx-transfer? amount tx-sender current-contract))
    (map-set deposits tx-sender { amount: (+ before amount), until: (+ stacks-block-time seconds) })
    (ok (+ before amount))))

(define-public (withdraw)
  (let (
      (owner tx-sender)
      (found (unwrap! (map-get? deposits owner) ERR_EMPTY))
      (amount (get amount found)))
    (asserts! (>= stacks-block-time (get until found)) ERR_LOCKED)
    (map-delete deposits owner)
    (try! (as-contract? ((with-stx amount)) (try! (stx-transfer? amount tx-sender owner))))
    (ok amount)))
