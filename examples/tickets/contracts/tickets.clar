;; Tickets of a show. Whoever deploys the contract organizes the show and gets the money.
(define-non-fungible-token ticket uint)

(define-constant ORGANIZER tx-sender)
(define-constant SEATS u3)
(define-constant PRICE u5000000)
(define-constant ERR_SOLD_OUT (err u100))

(define-data-var sold uint u0)

(define-read-only (get-seats-left)
  (- SEATS (var-get sold)))

(define-read-only (get-owner (id uint))
  (ok (nft-get-owner? ticket id)))

(define-public (buy)
  (let ((id (+ (var-get sold) u1)))
    (asserts! (<= id SEATS) ERR_SOLD_OUT)
    (try! (stx-transfer? PRICE tx-sender ORGANIZER))
    (try! (nft-mint? ticket id tx-sender))
    (var-set sold id)
    (print { event: "sold", ticket: id, buyer: tx-sender })
    (ok id)))
