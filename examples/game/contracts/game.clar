;; A race: each move prints an event, and the first player to reach the goal wins. The score is also in the events.
(define-constant GOAL u20)
(define-constant ERR_STEPS (err u100))
(define-constant ERR_OVER (err u101))

(define-data-var winner (optional principal) none)
(define-map positions principal uint)

(define-read-only (get-position (player principal))
  (default-to u0 (map-get? positions player)))

(define-read-only (get-winner)
  (var-get winner))

(define-private (step (number uint) (player principal))
  (let ((position (+ (get-position player) u1)))
    (map-set positions player position)
    (print { event: "step", player: player, position: position })
    player))

(define-private (win)
  (begin
    (print { event: "won", player: tx-sender })
    (var-set winner (some tx-sender))))

;; Moves by at most six steps.
(define-public (move (steps uint))
  (begin
    (asserts! (is-none (var-get winner)) ERR_OVER)
    (fold step
      (unwrap! (slice? (list u1 u2 u3 u4 u5 u6) u0 steps) ERR_STEPS)
      tx-sender)
    (if (>= (get-position tx-sender) GOAL) (win) false)
    (ok (get-position tx-sender))))
