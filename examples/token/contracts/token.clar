;; A fungible token of SIP-010. Its deployer mints.
(impl-trait 'SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.sip-010-trait-ft-standard.sip-010-trait)

(define-constant MINTER tx-sender)
(define-constant ERR_NOT_MINTER (err u100))
(define-constant ERR_NOT_OWNER (err u101))

(define-fungible-token gold u1000000000000)

(define-read-only (get-name) (ok "Gold"))
(define-read-only (get-symbol) (ok "GLD"))
(define-read-only (get-decimals) (ok u6))
(define-read-only (get-token-uri) (ok none))
(define-read-only (get-balance (owner principal)) (ok (ft-get-balance gold owner)))
(define-read-only (get-total-supply) (ok (ft-get-supply gold)))

(define-public (mint (amount uint) (recipient principal))
  (begin
    (asserts! (is-eq tx-sender MINTER) ERR_NOT_MINTER)
    (ft-mint? gold amount recipient)))

(define-public (transfer (amount uint) (sender principal) (recipient principal) (memo (optional (buff 34))))
  (begin
    (asserts! (is-eq tx-sender sender) ERR_NOT_OWNER)
    (try! (ft-transfer? gold amount sender recipient))
    (match memo text (begin (print text) true) true)
    (ok true)))
